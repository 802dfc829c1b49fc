// The longer run of packages/core/test/history: processes send many requests for a few keys to a real Redis while the
// server, connections and processes fail; then the history of all decisions is checked. Prints a line per seed and a
// summary. Run `npm run build` first.
//
//   node scripts/faults/history.mjs [--seeds 200] [--seconds 30] [--first 1]
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    first: { type: 'string', default: '1' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
const jest = spawn(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    '--selectProjects=core',
    '--runTestsByPath',
    'packages/core/test/history/history.test.ts',
  ],
  {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      SLUICE_SEED: values.first,
      SLUICE_HISTORY_SEEDS: values.seeds,
      SLUICE_HISTORY_SECONDS: values.seconds,
      SLUICE_HISTORY_REPORT: '1',
    },
  },
);

createInterface({ input: jest.stderr }).on('line', (line) => {
  console.error(line);
  if (line.startsWith('Ran all test suites')) jest.kill('SIGKILL'); // the results are complete, so jest need not exit by itself
});

const sums = { calls: 0, unknown: 0, unsent: 0, cuts: 0, explained: 0, undecided: 0, intervals: 0 };
const closest = {};
let [seeds, failed] = [0, 0];
for await (const line of createInterface({ input: jest.stdout })) {
  if (!line.startsWith('{')) {
    console.log(line);
    continue;
  }
  const verdict = JSON.parse(line);
  seeds++;
  if (verdict.error !== undefined || verdict.defects.length > 0) failed++;
  for (const name of Object.keys(sums)) sums[name] += verdict[name] ?? 0;
  for (const [algorithm, share] of Object.entries(verdict.closest ?? {})) {
    closest[algorithm] = Math.max(closest[algorithm] ?? 0, share);
  }
  const { seed, calls, unknown, cuts, explained, undecided, defects = [], error } = verdict;
  const came = error ?? `${defects.length} defects`;
  console.log(
    `seed ${seed}: ${calls} calls, ${unknown} unknown, ${cuts} cuts; ${explained} explained, ${undecided} undecided; ${came}`,
  );
}

console.log(`\n${seeds} seeds of ${values.seconds} s, ${failed} of them with defects`);
console.log(
  `${sums.calls} calls: ${sums.unknown} of unknown end, ${sums.unsent} never sent; ${sums.cuts} losses of memory`,
);
console.log(
  `${sums.explained} decisions explained to the last number, ${sums.undecided} that allowed of too many explanations`,
);
console.log(
  `${sums.intervals} intervals counted; closest to their bounds (1 is the bound): ${JSON.stringify(closest)}`,
);
process.exitCode = failed > 0 || seeds !== Number(values.seeds) ? 1 : 0;
