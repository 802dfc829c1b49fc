import { spawnSync } from 'node:child_process';

/** `deniedSliceMs`: a process knows a denial for a second, so a shorter slice measures how it comes to know. */
const MODES = {
  full: {
    ...{ rounds: 6, generations: 2, httpGenerations: 4, heapRounds: 3, warmMs: 600, sliceMs: 400, httpSliceMs: 250 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000] },
    ...{ httpSlices: 6, httpWarmRequests: 15_000, deniedSliceMs: 1_000 },
    ...{ serviceSlices: 2, serviceSliceMs: 2_000, serviceWarmSlices: 4 },
  },
  quick: {
    ...{ rounds: 3, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 200, sliceMs: 200, httpSliceMs: 300 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000] },
    ...{ httpSlices: 1, httpWarmRequests: 5_000, deniedSliceMs: 1_000 },
    ...{ serviceSlices: 1, serviceSliceMs: 2_000, serviceWarmSlices: 3 },
  },
  // For the test that benchmarks run at all: the figures mean nothing.
  trial: {
    ...{ rounds: 1, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 0, sliceMs: 1, httpSliceMs: 5 },
    ...{ mostKeys: 100, memoryKeys: 500, scaleKeys: [100, 200, 300, 400] },
    ...{ httpSlices: 1, httpWarmRequests: 1, deniedSliceMs: 1 },
    ...{ serviceSlices: 1, serviceSliceMs: 20, serviceWarmSlices: 0 },
  },
};

/**
 * Units of a client where some are denied: more than a slice needs, and few enough to be used up before the first one.
 */
const LIMIT = 1_000;

/** The duration, rounds and scenes of the measurement, from the command line. */
export function planOf({ quick, trial, rounds: wanted, node, scene, proxy, denied }) {
  const mode = trial ? 'trial' : quick ? 'quick' : 'full';
  const plan = MODES[mode];
  // Hono and fetch handlers get an address from a function of the application.
  const leftOut = proxy ? ['hono', 'web'] : [];
  const named = (name, scenes) => scenes.some((one) => name === one || name.startsWith(`${one}/`));
  return {
    ...plan,
    mode,
    rounds: wanted === undefined ? plan.rounds : wholeNumber(wanted),
    /** Whether a scene is to be measured: by its name, or the part before its slash. */
    wants: (name) => (scene === undefined ? !named(name, leftOut) : named(name, scene.split(','))),
    otherNodes: (node?.split(',') ?? []).map(pathOfNode),
    hasScenes: scene !== undefined,
    requests: {
      proxy,
      ...(denied === undefined ? { denied: 0 } : { denied: percent(denied), limit: trial ? 10 : LIMIT }),
    },
    log: (says) => console.error(`${new Date().toISOString().slice(11, 19)} ${says}`),
  };
}

function percent(text) {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  console.error(`--denied takes a whole number of percent from 1 to 99, not ${text}`);
  return process.exit(2);
}

function wholeNumber(text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  console.error(`--rounds takes a whole number from 1, not ${text}`);
  return process.exit(2);
}

/** A path as it is; a version is fetched, as scripts/matrix/nodes.mjs does. */
function pathOfNode(given) {
  if (given.includes('/')) return given;
  const args = ['--yes', '-p', `node@${given}`, '-c', 'node -p process.execPath'];
  const { status, stdout } = spawnSync('npx', args, { encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  console.error(`npx cannot fetch Node ${given}: leave it out of --node, or give a path`);
  return process.exit(2);
}
