// Checks the documents against the code: every code of an error or warning has a heading in docs/reference/errors.md,
// and every heading a code; every link between files leads to a file; every example marked `check` compiles, every
// example marked `run` runs, and every example marked `serve` responds as stated; READMEs
// (before their reference), decisions, guides and reference are short, and the index of decisions names each.
// With --links it checks no examples.
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
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { anchorOf } from '../../site/anchors.mjs';
import { ADDRESSES, PACKAGES } from '../build/packages.mjs';
import { examplesIn, runExample, writeExample } from './examples.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const problems = [];
/** Applications of NestJS are CommonJS before its version 12: what they begin with compiles as that, too. */
const COMMON_JS = 'packages/nestjs/README.md';
/** Documents that are read outside of the repository too. */
const PUBLISHED = new Set(Object.keys(PACKAGES).map((folder) => `packages/${folder}/README.md`));

const all = (text, pattern, as = String) => new Set([...text.matchAll(pattern)].map(([, found]) => as(found)));
const headings = all(read('docs/reference/errors.md'), /^### (SLUICE_\w+)/gm);
const typed = ['errors.ts', 'warnings.ts'].map((name) => read(`packages/core/src/${name}`)).join('\n');
const codes = all(typed, /[|=] '(SLUICE_\w+)'/g);
for (const code of codes) if (!headings.has(code)) problems.push(`docs/reference/errors.md has no heading for ${code}`);
for (const code of headings)
  if (!codes.has(code)) problems.push(`docs/reference/errors.md describes ${code}, which the code does not have`);

// Includes new files that are not committed yet. Leaves out removed files that are still in the index.
const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).stdout;
const files = listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
const documents = files.filter((file) => file.endsWith('.md'));
/** A clone has no folders that hold nothing. */
const isInClone = (path) => path === '.' || files.some((file) => file === path || file.startsWith(`${path}/`));
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
    const there = path === '' ? file : join(ours ? '' : dirname(file), path).replace(/\/$/, '');
    if (!isInClone(there)) problems.push(`${file} links to ${target}, which is not there`);
    else if (anchor && there.endsWith('.md') && !all(read(there), /^#+ (.*)$/gm, anchorOf).has(anchor))
      problems.push(`${file} links to ${target}, which has no such heading`);
  }
}

for (const [file, most] of [
  ['README.md', 600],
  // Of which 24 tell how to pack it until a registry has it.
  ...Object.keys(PACKAGES).map((folder) => [`packages/${folder}/README.md`, 324]),
]) {
  const words = read(file)
    .split(/^## Reference$/m, 1)[0]
    .match(/\S+/g).length;
  if (words > most) problems.push(`${file} has ${words} words before its reference, ${most} allowed`);
}

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

// Each can import the built packages and their dependencies, also those for development.
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
    for (const example of examples) {
      writeExample(folder, example, example.path);
      if (example.file === COMMON_JS) writeExample(folder, example, example.path.replace(/ts$/, 'cts'));
    }
    if (examples.some(({ path }) => path.endsWith('.ts'))) compile(folder);
    for (const example of examples) {
      const { path, verb } = example;
      if (verb === 'check') continue;
      const program = path.endsWith('.ts') ? join('out', path.replace(/ts$/, 'js')) : path;
      problems.push(...(await runExample(folder, example, program)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compile(folder) {
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const { stdout: said, stderr } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (said + stderr !== '') problems.push((said + stderr).replace(/^(\S+)-\d+\.c?ts\((\d+),\d+\)/gm, '$1.md:$2'));
}
