// Checks the documents against the code: every code of an error or warning has a heading in docs/reference/errors.md,
// and every heading a code; every link between files leads to a file; every example marked `check` compiles, and every
// example marked `run` runs. With --links it checks no examples.
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
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const problems = [];

const codes = new Set(
  ['packages/core/src/errors.ts', 'packages/core/src/warnings.ts'].flatMap((path) =>
    [...read(path).matchAll(/^ *\| '(SLUICE_\w+)'|= '(SLUICE_\w+)'(?= \||;)|\| '(SLUICE_\w+)'/gm)].map(
      (match) => match[1] ?? match[2] ?? match[3],
    ),
  ),
);
const headings = new Set(
  [...read('docs/reference/errors.md').matchAll(/^### (SLUICE_\w+)/gm)].map((match) => match[1]),
);
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
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split('#');
    const there = path === '' ? join(root, file) : join(root, dirname(file), path);
    if (!inClone.has(there.replace(/\/$/, ''))) problems.push(`${file} links to ${target}, which is not there`);
    else if (anchor && there.endsWith('.md') && !anchorsOf(readFileSync(there, 'utf8')).has(anchor)) {
      problems.push(`${file} links to ${target}, which has no such heading`);
    }
  }
}

if (!process.argv.includes('--links')) {
  checkExamples({
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
// comments hold what it prints. Each can import the built packages and their dependencies, also those for development.
function checkExamples(compilerOptions) {
  const examples = documents.flatMap(examplesIn);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
  try {
    linkPackages(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
    for (const { path, source } of examples) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), source);
    }
    if (examples.some(({ path }) => path.endsWith('.ts'))) compile(folder);
    for (const { file, line, path, source, runs } of examples) {
      if (!runs) continue;
      const expected = [...source.matchAll(/\/\/ prints (.*)$/gm)].map((match) => match[1]);
      const program = path.endsWith('.ts') ? join('out', path.replace(/ts$/, 'js')) : path;
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

function examplesIn(file) {
  const text = read(file);
  return [...text.matchAll(/^```(js run|ts run|ts check)\n(.*?)^```$/gms)].map(({ 1: kind, 2: source, index }) => {
    const line = text.slice(0, index).split('\n').length;
    const path = `${file.replace(/\.md$/, '')}-${line}.${kind.slice(0, 2)}`;
    // On the same lines as in the document, so that the compiler reports the line of the document.
    return { file, line, path, source: '\n'.repeat(line) + source, runs: kind.endsWith('run') };
  });
}

function compile(folder) {
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const { stdout: said, stderr } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (said + stderr !== '') problems.push((said + stderr).replace(/^(\S+)-\d+\.ts\((\d+),\d+\)/gm, '$1.md:$2'));
}

// Every dependency of the workspace and its packages, by name; the first package that has it wins.
function linkPackages(folder) {
  const owners = ['', ...readdirSync(join(root, 'packages')).map((name) => join('packages', name))];
  for (const owner of owners) {
    const from = join(root, owner, 'node_modules');
    if (!existsSync(from)) continue;
    const names = readdirSync(from).filter((name) => !name.startsWith('.'));
    for (const name of names.flatMap((one) =>
      one.startsWith('@') ? readdirSync(join(from, one)).map((inner) => join(one, inner)) : [one],
    )) {
      const link = join(folder, name);
      if (existsSync(link)) continue;
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(from, name), link);
    }
  }
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
