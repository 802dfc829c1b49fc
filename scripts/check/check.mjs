// The checks that need no opinion, by name:
//
//   npm run check                      the quick ones, side by side; what each has printed, and how long it took, as soon as it ends
//   npm run check -- lint docs         these, one after the other
//   npm run check -- all               all of them, one after the other
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runRows } from '../rows.mjs';

const ESLINT = 'eslint . --max-warnings 0 --cache --cache-location node_modules/.cache/eslint/';
const tsc = (project) => `node node_modules/@typescript/native/bin/tsc -p ${project}`;

/** Each is a command at the root. */
const CHECKS = {
  build: 'npm run -s build',
  /** Tests and scripts too; with decorators as TypeScript's experimentalDecorators; beside other versions of the same types. */
  types: [
    'tsconfig.json',
    'packages/nestjs/tsconfig.legacy-decorators.json',
    'examples/tsconfig.foreign-types.json',
    'packages/page/app',
  ]
    .map(tsc)
    .join(' && '),
  /** ESLint's cache knows files, not types: delete node_modules/.cache/eslint in doubt. */
  lint: `node scripts/check/arrows.mjs && node scripts/check/words.mjs && ${ESLINT} && prettier --check . --log-level warn --cache`,
  lua: 'node scripts/build/build-lua.mjs --check && node scripts/build/print-program.mjs --check && node scripts/check/lint-lua.mjs',
  links: 'node scripts/check/docs.mjs --links',
  docs: 'node scripts/check/docs.mjs && node scripts/build/options-page.mjs --check && node packages/benchmarks/src/page.mjs --check',
  packages:
    'node scripts/build/manifests.mjs --check && node scripts/check/sizes.mjs && node scripts/check/packages.mjs',
  unused: 'knip',
  envoy: 'node scripts/matrix/envoy.mjs',
};
const QUICK = ['build', 'types', 'lint', 'links', 'unused'];
/** The links are a part of the documents; Envoy comes with pip. */
const ALL = Object.keys(CHECKS).filter((name) => name !== 'links' && name !== 'envoy');

const named = process.argv.slice(2);
const names = named.includes('all') ? ALL : named;
const unknown = names.filter((name) => !(name in CHECKS));
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. There are: ${Object.keys(CHECKS).join(', ')}, all.`);
  process.exit(2);
}
const failed = names.length > 0 ? runRows(names.map((name) => [name, CHECKS[name]])) : await runQuick();
if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);

/** None of them reads what another one writes. */
async function runQuick() {
  const waiting = [...QUICK];
  const failures = [];
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      if (!(await runSilently(name))) failures.push(name);
  };
  await Promise.all([lane(), lane()]);
  return failures;
}

async function runSilently(name) {
  const began = performance.now();
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn(CHECKS[name], { cwd, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const status = await new Promise((ended) => child.on('close', ended));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const printed = output === '' ? '' : `\n${output.trimEnd()}`;
  console.log(`${status === 0 ? 'passed' : 'FAILED'}  ${name} (${seconds} s)${printed}`);
  return status === 0;
}
