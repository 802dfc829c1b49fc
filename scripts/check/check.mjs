// The checks that need no opinion: what each has printed, and how long it took, as soon as it ends.
//
//   npm run check                  those that need no build, two at a time
//   npm run check -- lint docs     these, one after the other
//   npm run check -- all           all of them
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ESLINT = 'eslint . --max-warnings 0 --cache --cache-location node_modules/.cache/eslint/';
const tsc = (project) => `node node_modules/@typescript/native/bin/tsc -p ${project}`;

/** Words that must not come back, alone and as a part of a name: one fact has one word, and a component is not a person. */
const WORDS =
  'nobody|somebody|someone|everybody|everyone|whoever|anew|heed(s|ed|ing)?|shall|refus(e|es|ed|ing|als?)|admit(s|ted|ting)?|stands above|is over';
/** Not of other programs: `connection refused`, and names of HAProxy and Sentinel. */
const IN_TEXT = `(?<![A-Za-z]|connection |[|])((?i)${WORDS})(?![a-z])`;
const IN_NAMES = `(?<=[a-z])(?<!acquire)(?=[A-Z])((?i)${WORDS})(?![a-z])`;

/** By name: whether it needs a build, and a command at the root. */
const CHECKS = {
  /** ESLint's cache knows files, not types: delete node_modules/.cache/eslint in doubt. */
  lint: [false, ESLINT],
  format: [false, 'prettier --check . --log-level warn --cache'],
  /** Tests and scripts too; with decorators as TypeScript's experimentalDecorators; beside other versions of the same types. */
  types: [
    false,
    [
      'tsconfig.json',
      'packages/nestjs/tsconfig.legacy-decorators.json',
      'examples/tsconfig.foreign-types.json',
      'packages/page/app',
    ]
      .map(tsc)
      .join(' && '),
  ],
  words: [
    false,
    `git grep --untracked -nP '${IN_TEXT}|${IN_NAMES}' -- '*.ts' '*.mjs' '*.lua' '*.md' ':!scripts/check/check.mjs' ':!.github'; test $? = 1`,
  ],
  lua: [false, 'node scripts/build/print-program.mjs --check && node scripts/check/lint-lua.mjs'],
  unused: [false, 'knip'],
  links: [false, 'node scripts/check/docs.mjs --links'],
  /** The links, and the examples. */
  docs: [
    true,
    'node scripts/check/docs.mjs && node scripts/build/options-page.mjs --check && node packages/benchmarks/src/page.mjs --check',
  ],
  packages: [true, 'node scripts/check/sizes.mjs && node scripts/check/packages.mjs'],
  /** Needs pip, which installs Envoy. */
  envoy: [true, 'node scripts/real/envoy.mjs'],
};

const given = process.argv.slice(2);
const names = given.filter((name) => name !== 'all');
const unknown = names.filter((name) => !(name in CHECKS));
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. There are: ${Object.keys(CHECKS).join(', ')}, all.`);
  process.exit(2);
}
const isWanted = (name, needsBuild) =>
  given.includes('all') ? name !== 'links' && name !== 'envoy' : given.length > 0 ? names.includes(name) : !needsBuild;
const waiting = Object.entries(CHECKS).filter(([name, [needsBuild]]) => isWanted(name, needsBuild));
console.log(`Checks: ${waiting.map(([name]) => name).join(', ')}`);
const failed = [];

async function lane() {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, [, command]] = next;
    if (!(await passes(name, command))) failed.push(name);
  }
}

async function passes(name, command) {
  const began = performance.now();
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const child = spawn(command, { cwd, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const status = await new Promise((ended) => child.on('close', ended));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const printed = output === '' ? '' : `\n${output.trimEnd()}`;
  console.log(`${status === 0 ? 'passed' : 'FAILED'}  ${name} (${seconds} s)${printed}`);
  return status === 0;
}

await Promise.all(given.length === 0 ? [lane(), lane()] : [lane()]);
if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
