// Runs Jest, with what it is given: `npm test -- [--quick | --deep | --one | --watch] [arguments of Jest]`.
//
//   (nothing)  every test; random explorations go through half of their cases
//   --quick    a fifth of the cases of that, and without what takes long and rarely finds what the rest does not (SLOW)
//   --deep     twenty times the cases of that, from a fresh seed, which is printed first
//   --one      the files whose path holds what is given, and nothing else
//   --watch    the tests of files that differ from the last commit, again after every change
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The tests that the quick run leaves to the full one. The adapters' contract runs on Express. */
const SLOW = ['packages/(fastify|koa|nestjs|web)/test/contract/', 'packages/cli/test/', 'examples/gateway/test/'];

const root = fileURLToPath(new URL('../..', import.meta.url));
const jest = `${root}node_modules/jest/bin/jest.js`;
const [mode, given] = modeOf(process.argv.slice(2));

if (!existsSync(jest)) fail('The dependencies are not installed: run `npm run setup` first.');
if (mode === 'one' && (given[0] ?? '-').startsWith('-')) fail('Usage: npm run test:one -- PATH [-t NAME]');

const env = { ...process.env };
// One file is tested while it changes; a run of more tests what a build has made, which loads faster.
if (mode !== 'one' && mode !== 'watch') env['SLUICE_BUILT'] = '1';
if (mode === 'quick' || mode === 'deep') env['SLUICE_DEPTH'] = mode;
if (env['SLUICE_DEPTH'] === 'deep') {
  env['SLUICE_SEED'] ||= String(randomInt(1, 2 ** 31));
  console.error(
    `Seed ${env['SLUICE_SEED']}. To run the same again: SLUICE_SEED=${env['SLUICE_SEED']} npm test -- --deep`,
  );
}

// What a test provokes of the others it catches: expectWarnings of the testkit does.
if (given.some((argument) => /^(-t|--testNamePattern)(=|$)/.test(argument))) env['SLUICE_PART'] = '1';

// Limiters per request are found when memory is collected, in whichever test that is.
const unprinted = ['ExperimentalWarning', 'SLUICE_LIMITER_PER_REQUEST'].map((name) => `--disable-warning=${name}`);
const threads = `--import=${new URL('threads.mjs', import.meta.url).href}`;
const flags = [...unprinted, threads, '--experimental-vm-modules'];
const child = spawn(process.execPath, [...flags, jest, ...argumentsOf(mode, given)], {
  cwd: root,
  env,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));

function modeOf([first = '', ...rest]) {
  const known = ['--quick', '--deep', '--one', '--watch'].includes(first);
  return known ? [first.slice(2), rest] : ['full', [first, ...rest].filter((argument) => argument !== '')];
}

function argumentsOf(mode, given) {
  if (mode === 'quick') return [`--testPathIgnorePatterns=${SLOW.join('|')}`, ...given];
  if (mode === 'watch') return ['--watch', ...given];
  return given;
}

function fail(why) {
  console.error(why);
  process.exit(2);
}
