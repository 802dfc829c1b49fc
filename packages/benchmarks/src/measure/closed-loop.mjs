import { quantile } from './spread.mjs';

/** A prime, so that the sample does not always fall on the same one of those in flight. */
const SAMPLED = 17;
/** What may be decided in one go without the event loop's turning, as it does in a server. */
const IN_ONE_TURN = 64;
/** Decisions in memory between two looks at the time. */
const IN_A_ROW = 1000;

/**
 * Keeps so many decisions in flight for so long: as soon as one is there the next is asked for.
 *
 * @returns How many decisions, how many of them refused, the wall and CPU time of this process, and quantiles of what a
 * decision took.
 */
export function closedLoop({ take, refuses }, nextKey, { inFlight, ms }) {
  return new Promise((resolve, reject) => {
    const latencies = [];
    let [ops, refused, running, isOver] = [0, 0, inFlight, false];
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const endMs = startMs + ms;

    const launch = () => {
      let askedMs = 0;
      let inTurn = 0;
      const ask = () => {
        askedMs = ops % SAMPLED === 0 ? performance.now() : 0;
        take(nextKey()).then(answered, reject);
      };
      const answered = (decision) => {
        if (askedMs !== 0) latencies.push(performance.now() - askedMs);
        if (refuses(decision)) refused++;
        if ((++ops & 31) === 0 && performance.now() >= endMs) isOver = true;
        if (isOver) finish();
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
        ...{ ops, refused, wallMs, cpuUs: user + system },
        p50Ms: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
      });
    };
    for (let i = 0; i < inFlight; i++) launch();
  });
}

/**
 * One decision after the other for so much CPU time, without a network: those that answer at once are not waited for.
 * By CPU time and not by the clock, so that as much is decided while others keep the core busy.
 */
export async function oneByOne({ take, refuses, isSync }, nextKey, { ms }) {
  let [ops, refused] = [0, 0];
  let spentUs;
  const started = process.cpuUsage();
  const startMs = performance.now();
  do {
    if (isSync) for (let i = 0; i < IN_A_ROW; i++) refused += Number(refuses(take(nextKey())));
    else for (let i = 0; i < IN_A_ROW; i++) refused += Number(refuses(await take(nextKey())));
    ops += IN_A_ROW;
    const { user, system } = process.cpuUsage(started);
    spentUs = user + system;
  } while (spentUs < ms * 1000);
  return { ops, refused, wallMs: performance.now() - startMs, cpuUs: spentUs };
}

/** Until a process has spent so much CPU time in it, and no longer than ten times that by the clock. */
export async function warmUp(contender, nextKey, { inFlight, ms }) {
  const started = process.cpuUsage();
  const startMs = performance.now();
  const isCold = () => {
    const { user, system } = process.cpuUsage(started);
    return user + system < ms * 1000 && performance.now() - startMs < 10 * ms;
  };
  while (isCold()) await closedLoop(contender, nextKey, { inFlight, ms: ms / 4 });
}
