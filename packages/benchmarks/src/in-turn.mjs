import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Whether processes are held to cores: the measured one to the first, Redis and the load to the second. */
export const isPinned =
  process.platform === 'linux' &&
  availableParallelism() > 1 &&
  spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0;

export const MEASURED = 0;
export const OTHER = 1;

/** The command of a program that is held to a core. */
export function heldTo(core, command) {
  return isPinned ? ['taskset', '-c', String(core), ...command] : command;
}

/** Moves a process that runs, with all its threads, to the core of the others. */
export function moveAway(pid) {
  if (isPinned) spawnSync('taskset', ['-acp', String(OTHER), String(pid)], { stdio: 'ignore' });
}

/**
 * Starts a process that opens one module of this folder: `ask(method, options)` calls what its `open(settings)` has
 * returned, one call after the other.
 */
export async function startChild(file, settings, { core = MEASURED, flags = [] } = {}) {
  const entry = fileURLToPath(new URL('child.mjs', import.meta.url));
  const [program, ...args] = heldTo(core, [process.execPath, '--no-warnings', ...flags, entry, file]);
  const env = { ...process.env, NODE_ENV: 'production' };
  const child = spawn(program, args, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const gone = once(child, 'exit').then(([code]) => [{ error: `it has ended with ${code}` }]);
  const ask = async (method, options = {}) => {
    child.send({ method, options });
    const [{ answer, error }] = await Promise.race([once(child, 'message'), gone]);
    if (error !== undefined) throw new Error(`${file}: ${error}`);
    return answer;
  };
  const end = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  try {
    await ask('open', settings);
  } catch (error) {
    await end();
    throw error;
  }
  return { ask, end };
}

/**
 * What each contender's `slice()` returned in each round. They are asked in turn, forth and back, and every generation
 * has new processes, because one that was compiled unluckily stays so.
 */
export async function inTurn(contenders, { generations, rounds }, start) {
  const seen = new Map(contenders.map((contender) => [contender, []]));
  for (let generation = 0; generation < generations; generation++) {
    const running = [];
    try {
      for (const contender of contenders) running.push({ contender, ...(await start(contender)) });
      for (const { warm } of running) await warm?.();
      for (let round = 0; round < rounds; round++) {
        for (const { contender, slice } of round % 2 === 0 ? running : running.toReversed()) {
          seen.get(contender).push(await slice());
        }
      }
    } finally {
      for (const { end } of running) await end();
    }
  }
  return seen;
}

/** A row of the results: the median of each figure with the range of the rounds, and the ratios to the floor's. */
export function toRow(about, rounds, floor) {
  const names = Object.keys(rounds[0]);
  const spread = (figureOf) => summarize(rounds.map(figureOf).filter(Number.isFinite));
  return {
    ...about,
    figures: Object.fromEntries(names.map((name) => [name, spread((round) => round[name])])),
    ...(floor && {
      ofFloor: Object.fromEntries(names.map((name) => [name, spread((round, i) => round[name] / floor[i]?.[name])])),
    }),
  };
}

function summarize(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share) => Number((sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN).toPrecision(4));
  return { median: at(0.5), low: at(0), high: at(1) };
}

/** The value below which this share of all values is. */
export function quantile(values, share) {
  return values.toSorted((one, other) => one - other)[Math.ceil(share * values.length) - 1];
}

/** The CPU time of this process so far, of all its threads: the compiler's and the collector's included. */
export function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
