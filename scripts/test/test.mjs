// Runs Jest:
//
//   npm test                      every test, of what is built: sets up and builds what is missing
//   npm test -- --deep            the same with twenty times the cases of random explorations, from a fresh seed, which is
//                                 printed first
//   npm test -- PATH [-t NAME]    the files whose path holds this, of the sources: needs no build
//   npm test -- --watch           the tests of files that differ from the last commit, again after every change
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [isDeep, given] = [
  process.argv.includes('--deep'),
  process.argv.slice(2).filter((argument) => argument !== '--deep'),
];
const isWhole = !given.includes('--watch') && (given[0] ?? '-').startsWith('-');
const env = { ...process.env };
if (isWhole) {
  for (const step of ['setup/install.mjs', 'build/build.mjs', 'setup/test-tools.mjs']) {
    const { status } = spawnSync(process.execPath, [`scripts/${step}`], { cwd: root, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  env['SLUICE_BUILT'] = '1';
}
if (isDeep) {
  env['SLUICE_DEPTH'] = 'deep';
  env['SLUICE_SEED'] ||= String(randomInt(1, 2 ** 31));
  console.error(
    `Seed ${env['SLUICE_SEED']}: SLUICE_SEED=${env['SLUICE_SEED']} npm test -- --deep runs the same again.`,
  );
}
// What a test provokes of the others it catches: expectWarnings of the testkit does.
if (given.some((argument) => /^(-t|--testNamePattern)(=|$)/.test(argument))) env['SLUICE_PART'] = '1';

// Limiters per request are found when memory is collected, in whichever test that is.
const unprinted = ['ExperimentalWarning', 'SLUICE_LIMITER_PER_REQUEST'].map((name) => `--disable-warning=${name}`);
const threads = `--import=${new URL('threads.mjs', import.meta.url).href}`;
const flags = [...unprinted, threads, '--experimental-vm-modules'];
const jest = [...flags, 'node_modules/jest/bin/jest.js', ...given];
const child = spawn(process.execPath, jest, { cwd: root, env, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
