import { expect, it, jest } from '@jest/globals';
import { createLimiter, memoryStore, type MemoryStore, type Policy } from '@sluice/core';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { useFakeTime } from '../guard/fake-store.ts';
import { everyPolicy } from '../program/any-policy.ts';

const SEED = testSeed(20_261_124);
const TIME_MS = 260;

const POLICIES = Object.entries(everyPolicy(6, 40)).filter(([kind]) => kind !== 'concurrency');

/** One request of a plan: when it comes, and what it does. */
interface Planned {
  readonly atMs: number;
  readonly cost: number;
  readonly abortAtMs: number | undefined;
}

/** What became of a request, and when, in milliseconds since the start. */
interface Ended {
  readonly allowedAtMs?: number | undefined;
  readonly leftAtMs?: number | undefined;
}

const { pass } = useFakeTime();

function planOf(random: Random): readonly Planned[] {
  const most = random.pick([1, 2, 6]);
  return Array.from({ length: random.integer(1, 40) }, () => {
    const atMs = random.integer(0, 120);
    return {
      atMs,
      cost: random.integer(1, most),
      abortAtMs: random.percent(15) ? atMs + random.integer(0, 80) : undefined,
    };
  }).sort((one, other) => one.atMs - other.atMs);
}

/** Each run begins at the same instant, so that windows that are aligned to the clock end alike. */
function storeOfNow(): MemoryStore {
  const startMs = performance.now();
  return memoryStore({ clock: { now: () => 1_795_262_400_000 + performance.now() - startMs } });
}

/** Without what would come after the end of the run. */
const inTime = (ended: readonly Ended[]): readonly Ended[] =>
  ended.map(({ allowedAtMs, leftAtMs }) =>
    (allowedAtMs ?? leftAtMs ?? TIME_MS) < TIME_MS ? { allowedAtMs, leftAtMs } : {},
  );

/** What becomes of the requests of a plan where each waits. No timer is left behind. */
async function waited(policy: Policy, plan: readonly Planned[]): Promise<readonly Ended[]> {
  const startMs = performance.now();
  const limiter = createLimiter({ policy, store: storeOfNow() });
  const ended: Ended[] = plan.map(() => ({}));
  const aborts = plan.map(() => new AbortController());
  for (let ms = 0; ms < TIME_MS; ms++) {
    plan.forEach(({ abortAtMs }, i) => {
      if (abortAtMs === ms) aborts[i]?.abort(new Error('left'));
    });
    plan.forEach(({ atMs, cost }, i) => {
      if (atMs !== ms) return;
      const signal = (aborts[i] as AbortController).signal;
      limiter.wait('k', { cost, signal }).then(
        () => (ended[i] = { allowedAtMs: Math.round(performance.now() - startMs) }),
        () => (ended[i] = { leftAtMs: Math.round(performance.now() - startMs) }),
      );
    });
    await pass(1);
  }
  const known = inTime(ended);
  await limiter.close();
  expect(jest.getTimerCount()).toBe(0);
  return known;
}

/** The same by the plainest rule there is: the first in line is tried in every millisecond, until it is allowed. */
async function tried(policy: Policy, plan: readonly Planned[]): Promise<readonly Ended[]> {
  const limiter = createLimiter({ policy, store: storeOfNow() });
  const ended: Ended[] = plan.map(() => ({}));
  const line: number[] = [];
  const tryLine = async (ms: number): Promise<void> => {
    for (;;) {
      const [first] = line;
      if (first === undefined) return;
      const { cost } = plan[first] as Planned;
      if (!(await limiter.peek('k', cost)).allowed) return;
      const { delayMs } = await limiter.consume('k', cost);
      ended[first] = { allowedAtMs: ms + delayMs };
      line.shift();
    }
  };
  for (let ms = 0; ms < TIME_MS; ms++) {
    await tryLine(ms);
    for (const [i, { abortAtMs }] of plan.entries()) {
      if (abortAtMs !== ms || !line.includes(i)) continue;
      line.splice(line.indexOf(i), 1);
      ended[i] = { leftAtMs: ms };
    }
    await tryLine(ms);
    for (const [i, { atMs, abortAtMs }] of plan.entries()) {
      if (atMs !== ms) continue;
      if (abortAtMs === ms) ended[i] = { leftAtMs: ms };
      else line.push(i);
    }
    await tryLine(ms);
    await pass(1);
  }
  await limiter.close();
  return inTime(ended);
}

it.each(POLICIES)(
  'requests that wait for %s are allowed in the order of their calls, in the millisecond in which the first in line fits',
  async (name, policy) => {
    const isPaced = name === 'leakyBucket';
    const random = seeded(SEED);
    for (let i = 0; i < cases(40); i++) {
      // One that is aborted in its delay frees a position that others are behind of already; costs above 2 never fit.
      const plan = planOf(random).map(({ cost, ...one }) =>
        isPaced ? { ...one, cost: Math.min(cost, 2), abortAtMs: undefined } : { ...one, cost },
      );
      expect({ seed: SEED, i, ended: await waited(policy, plan) }).toEqual({
        ...{ seed: SEED, i },
        ended: await tried(policy, plan),
      });
    }
  },
);
