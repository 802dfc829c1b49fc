// The programs in documents, and what they print. A block ```js run``` or ```ts run``` is a program; its `// prints`
// comments hold what it prints. A block ```js serve``` or ```ts serve``` is a server on port 3000, and the
// ```console``` blocks after it hold commands, after `$ `, and what they print. Servers with a title, ```js serve [Koa]```,
// are tabs, which share the commands after them. A block ```ts check``` only compiles.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** @param port - Servers listen there, instead of on port 3000. */
export function examplesIn(file, port) {
  const text = readFileSync(join(root, file), 'utf8');
  const blocks = [...text.matchAll(/^```(js|ts) (run|check|serve)( \[.*?\])?\n(.*?)^```$/gms)];
  return blocks.map(({ 1: language, 2: verb, 3: title, 4: code, index }, i) => {
    const line = text.slice(0, index).split('\n').length;
    const path = `${file.replace(/\.md$/, '')}-${line}.${language}`;
    // On the same lines as in the document, so that the compiler reports the line of the document.
    const source = '\n'.repeat(line) + code;
    if (verb !== 'serve') return { file, line, path, source, verb };
    const next = blocks.slice(i + 1).find((block) => !title || !block[3]);
    const after = text.slice(index, next?.index);
    const commands = [...after.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(({ 1: block }) =>
      commandsIn(block, port),
    );
    return { file, line, path, source: source.replaceAll('3000', port), verb, commands, port };
  });
}

export function writeExample(folder, { source }, path) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), source);
}

/**
 * Runs a program, and returns what is not as in the document.
 *
 * @param program - Its path in the folder.
 * @param command - Runs what is written behind it.
 */
export async function runExample(folder, example, program, [command, ...args] = [process.execPath]) {
  const { file, line, source, verb } = example;
  const place = `${file}:${line}`;
  if (verb === 'serve') return runServer(place, folder, [command, ...args, program], example);
  const expected = [...source.matchAll(/\/\/ prints (.*)$/gm)].map((match) => match[1]);
  const run = spawnSync(command, [...args, program], { cwd: folder, encoding: 'utf8', timeout: 60_000 });
  if (run.status === 0 && run.stdout.trimEnd() === expected.join('\n')) return [];
  return [`${place}: the program prints\n${run.stdout}${run.stderr}\ninstead of\n${expected.join('\n')}`];
}

function commandsIn(block, port) {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((one) => {
      const [command, ...printed] = one.trimEnd().split('\n');
      return { command: command.replaceAll('3000', port), printed };
    });
}

// Each line of the document is one that the command prints, in this order; a line `...` stands for any lines. Times may
// differ.
async function runServer(place, cwd, [command, ...args], { port, commands }) {
  const problems = [];
  // In a group of its own: some commands are the parents of what they start.
  const server = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  try {
    const isUp = `for i in {1..600}; do (: </dev/tcp/127.0.0.1/${port}) && exit; sleep 0.05; done; exit 1`;
    if (spawnSync('bash', ['-c', isUp]).status !== 0)
      problems.push(`${place}: the server does not listen on port 3000`);
    for (const { command: asked, printed } of commands) {
      const { stdout: output } = spawnSync('bash', ['-c', asked], { encoding: 'utf8', timeout: 60_000 });
      if (!matches(output.trimEnd().split(/\r?\n/), printed)) {
        problems.push(`${place}: ${asked}\nprints\n${output}\ninstead of\n${printed.join('\n')}`);
      }
    }
  } finally {
    if (server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      process.kill(-server.pid, 'SIGKILL');
      await exited;
      // What the killed command had started may listen a little longer.
      spawnSync('bash', ['-c', `while (: </dev/tcp/127.0.0.1/${port}) 2>&-; do sleep 0.02; done`], { timeout: 10_000 });
    }
  }
  return problems;
}

function matches(lines, [expected, ...further]) {
  if (expected === undefined) return lines.length === 0;
  if (expected === '...') return lines.some((_, i) => matches(lines.slice(i + 1), further));
  return lines.length > 0 && untimed(lines[0]) === untimed(expected) && matches(lines.slice(1), further);
}

/** Without what differs from time to time, and from framework to framework: capitals of a field's name. */
function untimed(line) {
  const lower = line.replace(/^[\w-]+: /, (name) => name.toLowerCase());
  return lower.replace(/(;t=|^retry-after: |"detail":"[^"]* in )\d+/gi, '$1n');
}
