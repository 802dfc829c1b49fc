// Changes the program in one place at a time, and runs its tests in memory against each change. A change that no test
// notices must be in packages/core/test/program/surviving-mutants.json, with the reason why it changes nothing.
//
//   node scripts/test/mutate.mjs              all changes: half an hour on two cores
//   node scripts/test/mutate.mjs window 12 20 those of window.ts in lines 12 to 20
//   EVERY=8 node scripts/test/mutate.mjs      every eighth
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as esbuild from 'esbuild';
import ts from 'typescript';

const core = join(import.meta.dirname, '../../packages/core');
const recorded = join(core, 'test/program/surviving-mutants.json');
/** The quickest first, since the first failure ends a run. */
const TESTS = ['frozen', 'vectors', 'edges', 'resets', 'laws', 'turns'];
/** Some changes make endless loops. CPU time, so that other work on the machine ends no run. */
const MAX_CPU_SECONDS = 90;
const WORKERS = 2;

const SWAPS = {
  ...{ '<': ['<='], '<=': ['<'], '>': ['>='], '>=': ['>'], '===': ['!=='], '!==': ['==='] },
  ...{ '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '&&': ['||'], '||': ['&&'], '+=': ['-='], '-=': ['+='] },
  ...{
    min: ['max'],
    max: ['min'],
    floor: ['ceil'],
    ceil: ['floor'],
    0: ['1'],
    1: ['0', '2'],
    true: ['false'],
    false: ['true'],
  },
};

/** Every change of a file: where, and to what. */
function mutantsOf(file) {
  const text = readFileSync(join(core, 'src/program', file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const visit = (node) => {
    // Names of places are numbers that only must differ.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || isConstant(node)) return;
    const isToken = ts.isToken(node) && !ts.isIdentifier(node);
    const isMath = ts.isIdentifier(node) && node.parent.expression?.getText() === 'Math';
    for (const to of isToken || isMath ? (SWAPS[node.getText()] ?? []) : []) {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line;
      const change = `${node.getText()} -> ${to}`;
      const code = text.split('\n')[line].trim();
      const column = node.getStart() - text.indexOf(code, source.getPositionOfLineAndCharacter(line, 0));
      found.push({
        file,
        line: line + 1,
        code,
        change: `${change} at ${String(column)}`,
        text: text.slice(0, node.getStart()) + to + text.slice(node.getEnd()),
      });
    }
    ts.forEachChild(node, visit);
    if (isToken) return;
  };
  visit(source);
  return found;
}

const isConstant = (node) =>
  ts.isVariableStatement(node) &&
  node.parent.kind === ts.SyntaxKind.SourceFile &&
  /^(export )?const [A-Z]/.test(node.getText());

/** Jest's functions, as far as these tests use them, without Redis: the first failure ends the process. */
const JEST = `
import { isDeepStrictEqual } from 'node:util';
const check = (holds) => { if (!holds) throw new Error('not as expected'); };
export const expect = (got) => ({
  toBe: (wanted) => check(Object.is(got, wanted)), toEqual: (wanted) => check(isDeepStrictEqual(got, wanted)),
  toBeLessThanOrEqual: (most) => check(got <= most), toBeGreaterThanOrEqual: (least) => check(got >= least),
});
const titles = [], tests = [];
const each = (run) => (rows) => (title, body) => rows.forEach((row) => run(title, () => body(...(Array.isArray(row) ? row : [row])), row));
export const describe = (title, body) => { titles.push(title); body(); titles.pop(); };
describe.each = each((title, body, row) => describe([title, row].flat().join(' '), body));
export const it = (title, body) => { if (!titles.some((one) => one.includes('in Redis'))) tests.push(body); };
it.each = each(it);
export const beforeEach = () => {}, beforeAll = beforeEach, afterAll = beforeEach;
setImmediate(async () => { try { for (const test of tests) await test(); } catch { process.exit(1); } process.exit(0); });
`;
const TESTKIT = `export * from './random.ts'; export * from './depth.ts'; export const useRedis = () => ({});`;

const virtual = (contents, resolveDir) => ({ contents, resolveDir, loader: 'ts' });
const build = (options) =>
  esbuild.build({
    bundle: true,
    ignoreAnnotations: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
    ...options,
  });

/** The tests, without a file of the program: it is `mutant.mjs` beside them. */
async function bundleTests(file, outfile) {
  const contents = TESTS.map((test) => `import './${test}.test.ts';`).join('');
  const name = 'tests';
  const setup = ({ onResolve, onLoad }) => {
    onResolve({ filter: new RegExp(`/${file}$`) }, ({ path, resolveDir }) =>
      join(resolveDir, path) === join(core, 'src/program', file) ? { path: './mutant.mjs', external: true } : undefined,
    );
    onResolve({ filter: /^@jest\/globals$|^@sluice\/testkit$/ }, ({ path }) => ({ path, namespace: 'virtual' }));
    onLoad({ filter: /jest/, namespace: 'virtual' }, () => virtual(JEST, core));
    onLoad({ filter: /testkit/, namespace: 'virtual' }, () => virtual(TESTKIT, join(core, '../testkit/src')));
    onLoad({ filter: /redis-store\.ts$/ }, () => virtual('export const redisStore = () => {};', core));
    onLoad({ filter: /test\/program\/.*\.ts$/ }, ({ path }) =>
      virtual(readFileSync(path, 'utf8').replaceAll('import.meta.url', `'file://${path}'`), dirname(path)),
    );
  };
  await build({ stdin: { contents, resolveDir: join(core, 'test/program') }, outfile, plugins: [{ name, setup }] });
}

/** Whether no test fails. */
async function survives({ file, text }, folder) {
  await build({ stdin: virtual(text, join(core, 'src/program')), outfile: join(folder, 'mutant.mjs') });
  const run = `ulimit -t ${String(MAX_CPU_SECONDS)}; exec "${process.execPath}" "${join(folder, `${file}.mjs`)}"`;
  const child = spawn('sh', ['-c', run], { stdio: 'ignore' });
  return (await new Promise((resolve) => child.on('exit', resolve))) === 0;
}

const [only, from = 1, to = Infinity] = process.argv.slice(2);
const files = readdirSync(join(core, 'src/program')).filter((file) => only === undefined || file === `${only}.ts`);
const mutants = files
  .flatMap(mutantsOf)
  .filter(({ line }) => line >= Number(from) && line <= Number(to))
  .filter((_, i) => i % Number(process.env.EVERY ?? 1) === 0);
const known = JSON.parse(readFileSync(recorded, 'utf8')).survivors;
const survivors = [];
let next = 0;

async function work() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
  for (const file of files) {
    await bundleTests(file, join(folder, `${file}.mjs`));
    const text = readFileSync(join(core, 'src/program', file), 'utf8');
    if (file === files[0] && !(await survives({ file, text }, folder)))
      throw new Error(`the tests fail without a change of ${file}`);
  }
  while (next < mutants.length) {
    const number = next++;
    if (await survives(mutants[number], folder)) survivors.push(mutants[number]);
    if (number % 25 === 0)
      console.log(`${String(number)} of ${String(mutants.length)}, ${String(survivors.length)} survive`);
  }
  rmSync(folder, { recursive: true });
}

await Promise.all(Array.from({ length: WORKERS }, work));
const isKnown = (one) =>
  known.some(({ file, code, change }) => file === one.file && code === one.code && change === one.change);
const unknown = survivors
  .filter((one) => !isKnown(one))
  .map(({ file, line, code, change }) => ({ file, line, code, change }));
console.log(
  `${String(mutants.length - survivors.length)} of ${String(mutants.length)} changes fail a test, ${String(survivors.length - unknown.length)} others change nothing.`,
);
if (process.env.MUTANTS_OUT) writeFileSync(process.env.MUTANTS_OUT, JSON.stringify(unknown, null, 1));
for (const one of unknown) console.error(`${one.file}:${String(one.line)}: ${one.change}: ${one.code}`);
process.exit(unknown.length === 0 ? 0 : 1);
