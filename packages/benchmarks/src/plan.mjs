import { spawnSync } from 'node:child_process';

const MODES = {
  full: {
    ...{ rounds: 6, generations: 2, httpGenerations: 4, heapRounds: 3, warmMs: 600, sliceMs: 400, httpSliceMs: 250 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000], inFlight: [1, 64, 256] },
    ...{ httpSlices: 6, httpWarmRequests: 15_000 },
  },
  quick: {
    ...{ rounds: 3, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 200, sliceMs: 200, httpSliceMs: 300 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000], inFlight: [1, 64, 256] },
    ...{ httpSlices: 1, httpWarmRequests: 5_000 },
  },
  // For the test that benchmarks run at all: the figures mean nothing.
  trial: {
    ...{ rounds: 1, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 0, sliceMs: 1, httpSliceMs: 5 },
    ...{ mostKeys: 100, memoryKeys: 500, scaleKeys: [100, 200, 300, 400], inFlight: [64] },
    ...{ httpSlices: 1, httpWarmRequests: 1 },
  },
};

/** How long and how often is measured, from what the command line says. */
export function planOf({ quick, trial, rounds, node }) {
  const mode = trial ? 'trial' : quick ? 'quick' : 'full';
  const plan = MODES[mode];
  return {
    ...plan,
    mode,
    rounds: rounds === undefined ? plan.rounds : wholeNumber(rounds),
    otherNode: node === undefined ? undefined : pathOfNode(node),
    note: (says) => console.error(`${new Date().toISOString().slice(11, 19)} ${says}`),
  };
}

function wholeNumber(text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  console.error(`--rounds takes a whole number from 1, not ${text}`);
  return process.exit(2);
}

/** A path as it is; a version is fetched, as scripts/test-nodes.mjs does. */
function pathOfNode(given) {
  if (given.includes('/')) return given;
  const args = ['--yes', '-p', `node@${given}`, '-c', 'node -p process.execPath'];
  const { status, stdout } = spawnSync('npx', args, { encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  console.error(`npx cannot fetch Node ${given}: leave --node away, or give it a path`);
  return process.exit(2);
}
