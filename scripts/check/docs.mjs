// Checks the documents against the code: every code of an error or warning has a heading in docs/reference/errors.md,
// and every heading a code; every link between files leads to a file; every example marked `check` compiles, every
// example marked `run` runs, and every example marked `serve` responds as stated; all examples of a SKILL.md are marked.
// Decisions, of which each answers a question of their index, are short, and so are guides and reference as a whole. With
// --links it checks no examples.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ADDRESSES, PACKAGES } from '../build/packages.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const problems = [];
/** Applications of NestJS are CommonJS before its version 12: what they begin with compiles as that, too. */
const COMMON_JS = 'packages/nestjs/README.md';
/** Documents that are read outside of the repository too. */
const PUBLISHED = new Set(
  Object.keys(PACKAGES).flatMap((folder) => [`packages/${folder}/README.md`, `packages/${folder}/SKILL.md`]),
);

const all = (text, pattern) => new Set([...text.matchAll(pattern)].map(([, found]) => found));
const headings = all(read('docs/reference/errors.md'), /^### (SLUICE_\w+)/gm);
const typed = ['errors.ts', 'warnings.ts'].map((name) => read(`packages/core/src/${name}`)).join('\n');
const codes = all(typed, /[|=] '(SLUICE_\w+)'/g);
for (const code of codes) if (!headings.has(code)) problems.push(`docs/reference/errors.md has no heading for ${code}`);
for (const code of headings)
  if (!codes.has(code)) problems.push(`docs/reference/errors.md describes ${code}, which the code does not have`);

// Includes new files that are not committed yet. Leaves out removed files that are still in the index, and folders that
// hold nothing: a clone does not have them.
const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const files = stdout.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
const documents = files.filter((file) => file.endsWith('.md'));
const inClone = new Set([root.slice(0, -1), ...files.flatMap(withFolders)]);
for (const file of documents) {
  const text = read(file).replace(/```.*?```/gs, '');
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    const ours = target.startsWith(`${ADDRESSES.repository}/`) && /\/(?:blob|tree)\/main\/(.*)/.exec(target)?.[1];
    if (!ours && /^[a-z]+:/.test(target)) continue;
    const [path, anchor] = (ours || target).split('#');
    if (!ours && path !== '' && PUBLISHED.has(file))
      problems.push(
        `${file} links to ${target}: it is published, so that its links begin with ${ADDRESSES.repository}`,
      );
    const there = path === '' ? join(root, file) : join(root, ours ? '' : dirname(file), path);
    if (!inClone.has(there.replace(/\/$/, ''))) problems.push(`${file} links to ${target}, which is not there`);
    else if (anchor && there.endsWith('.md') && !anchorsOf(readFileSync(there, 'utf8')).has(anchor)) {
      problems.push(`${file} links to ${target}, which has no such heading`);
    }
  }
}

for (const skill of documents.filter((file) => file.endsWith('/SKILL.md')))
  for (const [fence] of read(skill).matchAll(/^```(?:js|ts)\w*$/gm))
    problems.push(
      `${skill} has an example that is only ${fence}: a reader of skills reads nothing else, so mark it run or check`,
    );

const guidesAndReference = documents.filter((file) => /^docs\/(guides|reference)\//.test(file));
const total = guidesAndReference.flatMap((file) => read(file).match(/\S+/g)).length;
if (total > 20_000) problems.push(`docs/guides and docs/reference have ${total} words, 20 000 allowed`);

const decisions = readdirSync(join(root, 'docs/adr')).filter((name) => /^\d{4}-/.test(name));
if (decisions.length > 30) problems.push(`docs/adr has ${decisions.length} decisions, 30 allowed`);
for (const name of decisions) {
  const words = read(`docs/adr/${name}`).match(/\S+/g).length;
  if (words > 300) problems.push(`docs/adr/${name} has ${words} words, 300 allowed`);
  if (!read('docs/adr/README.md').includes(`](${name})`))
    problems.push(`docs/adr/README.md has no question for ${name}`);
}

if (!process.argv.includes('--links')) {
  await checkExamples({
    target: 'es2022',
    module: 'nodenext',
    moduleDetection: 'force',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    skipLibCheck: true,
    rootDir: '.',
    outDir: 'out',
  });
}

for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function withFolders(file) {
  const folder = dirname(file);
  return folder === '.' ? [join(root, file)] : [join(root, file), ...withFolders(folder)];
}

// A block ```ts check``` has no type errors. A block ```js run``` or ```ts run``` is a program; its `// prints`
// comments hold what it prints. A block ```js serve``` or ```ts serve``` is a server on port 3000, and the
// ```console``` blocks after it hold commands, after `$ `, and what they print. Servers with a title, ```js serve [Koa]```,
// are tabs, which share the commands after them. Each can import the built packages and their dependencies, also those
// for development.
async function checkExamples(compilerOptions) {
  const { freePort } = await import('../../packages/testkit/dist/free-port.js'); // the links are checked without a build
  const port = await freePort();
  const examples = documents.flatMap((file) => examplesIn(file, port));
  // What the root depends on is found above, and every dependency of its packages in the store of pnpm.
  const cache = join(root, 'node_modules/.cache/sluice');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'docs-'));
  try {
    symlinkSync(join(root, 'node_modules/.pnpm/node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts', '**/*.cts'] }));
    for (const { file, path, source } of examples) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), source);
      if (file === COMMON_JS) writeFileSync(join(folder, path.replace(/ts$/, 'cts')), source);
    }
    if (examples.some(({ path }) => path.endsWith('.ts'))) compile(folder);
    for (const { file, line, path, source, verb, commands } of examples) {
      if (verb === 'check') continue;
      const program = path.endsWith('.ts') ? join('out', path.replace(/ts$/, 'js')) : path;
      if (verb === 'serve') {
        await checkServer(`${file}:${line}`, join(folder, program), port, commands);
        continue;
      }
      const expected = [...source.matchAll(/\/\/ prints (.*)$/gm)].map((match) => match[1]);
      const run = spawnSync(process.execPath, [program], { cwd: folder, encoding: 'utf8', timeout: 60_000 });
      if (run.status === 0 && run.stdout.trimEnd() === expected.join('\n')) continue;
      problems.push(
        `${file}:${line}: the program prints\n${run.stdout}${run.stderr}\ninstead of\n${expected.join('\n')}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function examplesIn(file, port) {
  const text = read(file);
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
    return { file, line, path, source: source.replaceAll('3000', port), verb, commands };
  });
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
async function checkServer(place, program, port, commands) {
  const server = spawn(process.execPath, [program], { cwd: dirname(program), stdio: ['ignore', 'inherit', 'inherit'] });
  try {
    const isUp = `for i in {1..200}; do (: </dev/tcp/127.0.0.1/${port}) && exit; sleep 0.05; done; exit 1`;
    if (spawnSync('bash', ['-c', isUp]).status !== 0)
      problems.push(`${place}: the server does not listen on port 3000`);
    for (const { command, printed } of commands) {
      const { stdout: output } = spawnSync('bash', ['-c', command], { encoding: 'utf8', timeout: 60_000 });
      if (!matches(output.trimEnd().split(/\r?\n/), printed)) {
        problems.push(`${place}: ${command}\nprints\n${output}\ninstead of\n${printed.join('\n')}`);
      }
    }
  } finally {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  }
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

function compile(folder) {
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const { stdout: said, stderr } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (said + stderr !== '') problems.push((said + stderr).replace(/^(\S+)-\d+\.c?ts\((\d+),\d+\)/gm, '$1.md:$2'));
}

function anchorsOf(markdown) {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map((match) => match[1]);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
