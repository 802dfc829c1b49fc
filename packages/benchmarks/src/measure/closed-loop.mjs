import { quantile } from './spread.mjs';

/** A prime, so that the sample does not always select the same slot in flight. */
const SAMPLED = 17;
/** The most decisions in one turn of the event loop, as in a server. */
const IN_ONE_TURN = 64;
/** Decisions in memory between two readings of the time. */
const IN_A_ROW = 1000;

/**
 * Keeps this many decisions in flight for this time: when one resolves, the next one starts.
 *
 * @returns The number of decisions and denials, the wall and CPU time of this process, and quantiles of the duration
 * of a decision.
 */
export function closedLoop({ consume, denies }, nextKey, { inFlight, ms }) {
  return new Promise((resolve, reject) => {
    const latencies = [];
    let [ops, denied, running, isDue] = [0, 0, inFlight, false];
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const endMs = startMs + ms;

    const launch = () => {
      let askedMs = 0;
      let inTurn = 0;
      const ask = () => {
        askedMs = ops % SAMPLED === 0 ? performance.now() : 0;
        consume(nextKey()).then(answered, reject);
      };
      const answered = (decision) => {
        if (askedMs !== 0) latencies.push(performance.now() - askedMs);
        if (denies(decision)) denied++;
        if ((++ops & 31) === 0 && performance.now() >= endMs) isDue = true;
        if (isDue) finish();
        else if (++inTurn < IN_ONE_TURN) ask();
        else {
          inTurn = 0;
          setImmediate(ask);
        }
      };
      ask();
    };
    const finish = () => {
      if (--running > 0) return;
      const { user, system } = process.cpuUsage(cpu);
      const wallMs = performance.now() - startMs;
      resolve({
        ...{ ops, denied, wallMs, cpuUs: user + system },
        p50Ms: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
      });
    };
    for (let i = 0; i < inFlight; i++) launch();
  });
}

/**
 * One decision after the other for this much CPU time, without a network. Synchronous decisions are not awaited.
 * CPU time and not the clock limits it, so that other load of the core does not reduce the number of decisions.
 */
export async function oneByOne({ consume, denies, isSync }, nextKey, { ms }) {
  let [ops, denied] = [0, 0];
  let spentUs;
  const started = process.cpuUsage();
  const startMs = performance.now();
  do {
    if (isSync) for (let i = 0; i < IN_A_ROW; i++) denied += Number(denies(consume(nextKey())));
    else for (let i = 0; i < IN_A_ROW; i++) denied += Number(denies(await consume(nextKey())));
    ops += IN_A_ROW;
    const { user, system } = process.cpuUsage(started);
    spentUs = user + system;
  } while (spentUs < ms * 1000);
  return { ops, denied, wallMs: performance.now() - startMs, cpuUs: spentUs };
}

/** Until a process has spent this much CPU time, but at most ten times that by the clock. */
export async function warmUp(contender, nextKey, { inFlight, ms }) {
  const started = process.cpuUsage();
  const startMs = performance.now();
  const isCold = () => {
    const { user, system } = process.cpuUsage(started);
    return user + system < ms * 1000 && performance.now() - startMs < 10 * ms;
  };
  while (isCold()) await closedLoop(contender, nextKey, { inFlight, ms: ms / 4 });
}
