import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { besideOtherBuild } from './against.mjs';

/** `deniedSliceMs`: a process knows a denial for a second, so a shorter slice measures how it comes to know. */
const MODES = {
  full: {
    ...{ rounds: 6, generations: 2, httpGenerations: 4, heapRounds: 3, warmMs: 600, sliceMs: 400, httpSliceMs: 250 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000], inFlight: [1, 64, 256] },
    ...{ httpSlices: 6, httpWarmRequests: 15_000, deniedSliceMs: 1_000 },
    ...{ serviceSlices: 2, serviceSliceMs: 2_000, serviceWarmSlices: 4 },
  },
  quick: {
    ...{ rounds: 3, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 200, sliceMs: 200, httpSliceMs: 300 },
    ...{ memoryKeys: 1_000_000, scaleKeys: [1_000, 10_000, 100_000, 1_000_000], inFlight: [1, 64, 256] },
    ...{ httpSlices: 1, httpWarmRequests: 5_000, deniedSliceMs: 1_000 },
    ...{ serviceSlices: 1, serviceSliceMs: 2_000, serviceWarmSlices: 3 },
  },
  // Against another build: fresh processes in every round, because compilation differs more than builds do, and short
  // slices in turn, so that a busy second of the machine affects both.
  against: {
    ...{ rounds: 6, heapRounds: 2, warmMs: 400, sliceMs: 100, slices: 6, deniedSliceMs: 1_000, httpSliceMs: 250 },
    ...{ memoryKeys: 1_000_000, inFlight: [1, 64, 256], httpSlices: 6, httpWarmRequests: 15_000, deniedSliceMs: 1_000 },
  },
  quickAgainst: {
    ...{ rounds: 3, heapRounds: 1, warmMs: 200, sliceMs: 100, slices: 4, deniedSliceMs: 1_000, httpSliceMs: 250 },
    ...{ memoryKeys: 100_000, inFlight: [1, 64, 256], httpSlices: 3, httpWarmRequests: 5_000 },
    // No goal uses these.
    leftOut: ['zipf', 'hot-key/1', 'denied/1', 'denied/256', 'several-policies/1'],
  },
  // Two minutes: ours alone, over HTTP.
  moved: {
    ...{ rounds: 3, httpSliceMs: 250, httpSlices: 3, httpWarmRequests: 4_000 },
    leftOut: ['hono', 'web'],
  },
  // For the test that benchmarks run at all: the figures mean nothing.
  trial: {
    ...{ rounds: 1, generations: 1, httpGenerations: 1, heapRounds: 1, warmMs: 0, sliceMs: 1, httpSliceMs: 5 },
    ...{ mostKeys: 100, memoryKeys: 500, scaleKeys: [100, 200, 300, 400], inFlight: [64] },
    ...{ httpSlices: 1, httpWarmRequests: 1, deniedSliceMs: 1 },
    ...{ serviceSlices: 1, serviceSliceMs: 20, serviceWarmSlices: 0 },
  },
};

/** The duration, rounds and scenes of the measurement, from the command line. */
export function planOf({ quick, trial, rounds: wanted, node, against, moved, scene, proxy, denied }) {
  const mode = trial ? 'trial' : quick ? 'quick' : 'full';
  const besides = moved === undefined ? (quick ? 'quickAgainst' : 'against') : 'moved';
  const plan = MODES[against === undefined || trial ? mode : besides];
  const rounds = wanted === undefined ? plan.rounds : wholeNumber(wanted);
  // Hono and fetch handlers get an address from a function of the application.
  const leftOut = [...(plan.leftOut ?? []), ...(proxy ? ['hono', 'web'] : [])];
  const named = (name, scenes) => scenes.some((one) => name === one || name.startsWith(`${one}/`));
  return {
    ...plan,
    mode,
    rounds,
    ...(against === undefined
      ? {}
      : { generations: rounds, httpGenerations: rounds, against: besideOtherBuild(resolve(against)) }),
    /** Whether a scene is to be measured: by its name, or the part before its slash. */
    wants: (name) => (scene === undefined ? !named(name, leftOut) : named(name, scene.split(','))),
    otherNodes: (node?.split(',') ?? []).map(pathOfNode),
    hasScenes: scene !== undefined,
    withoutFloors: moved !== undefined,
    requests: { proxy, denied: denied === undefined ? 0 : percent(denied) },
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
