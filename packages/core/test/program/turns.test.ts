import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { ALLOWED, PEEK, RETRY_AFTER, TAKE, USED } from '../../src/program/decide.ts';
import type { Plan } from './memory.ts';
import { anyPlan, MAKERS } from './any-policy.ts';
import { ProgramInMemory } from './memory.ts';
import { plan } from './plans.ts';
import { fixedWindow, leakyBucket, slidingCounter, slidingLog, slidingWindow, tokenBucket } from './policies.ts';

const START = 1_900_000_000_000;
const HOUR = 3_600_000;
const seed = testSeed(20_261_129);

/** The instants at which one unit was allowed, when policies ask in turn on one key. */
function allowedAt(plans: readonly Plan[], everyMs: number, forMs = HOUR): readonly number[] {
  const store = new ProgramInMemory();
  const allowed: number[] = [];
  for (let i = 0; i * everyMs < forMs; i++) {
    store.atMs = START + i * everyMs;
    const { figures } = store.perform(TAKE, [{ key: 'one', plan: plans[i % plans.length] as Plan, cost: 1 }]);
    if (figures[0]?.[ALLOWED] === 1) allowed.push(store.atMs);
  }
  return allowed;
}

/** The most instants in any interval of this length. */
function densest(instants: readonly number[], lengthMs: number): number {
  let most = 0;
  let from = 0;
  for (const [to, instant] of instants.entries()) {
    while ((instants[from] ?? 0) <= instant - lengthMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

describe('two policies of one kind that take turns on a key', () => {
  it.each([
    [
      'buckets',
      tokenBucket({ capacity: 5, refill: 1, every: '10s' }),
      tokenBucket({ capacity: 5, refill: 1, every: '9s' }),
    ],
    [
      'buckets that are refilled at intervals',
      tokenBucket({ capacity: 5, refill: 1, every: '10s', mode: 'interval' }),
      tokenBucket({ capacity: 5, refill: 1, every: '9s', mode: 'interval' }),
    ],
    [
      'leaky buckets',
      leakyBucket({ limit: 1, window: '10s', maxDelay: '20s' }),
      leakyBucket({ limit: 1, window: '9s', maxDelay: '20s' }),
    ],
    [
      'sliding windows of other precision',
      slidingWindow({ limit: 60, window: '1m', precision: '6s' }),
      slidingWindow({ limit: 60, window: '1m', precision: '10s' }),
    ],
    ['sliding logs', slidingLog({ limit: 60, window: '1m' }), slidingLog({ limit: 10, window: '10s' })],
    [
      'fixed windows',
      fixedWindow({ limit: 60, window: '1m', align: 'clock' }),
      fixedWindow({ limit: 60, window: '1m', align: 'first-hit' }),
    ],
  ])('are together as fast as the slower one alone: %s', (_, one, other) => {
    const [first, second] = [plan(one), plan(other)];
    const slower = Math.min(allowedAt([first], 1_000).length, allowedAt([second], 1_000).length);

    for (const turns of [
      [first, second],
      [second, first],
      [first, first, second],
      [second, first, first, first],
    ]) {
      expect(allowedAt(turns, 1_000).length).toBeGreaterThanOrEqual(slower);
    }
  });

  it.each([
    [
      'sliding windows',
      slidingWindow({ limit: 60, window: '1m' }),
      slidingWindow({ limit: 30, window: '1m', precision: '2s' }),
      60,
    ],
    ['sliding logs', slidingLog({ limit: 60, window: '1m' }), slidingLog({ limit: 50, window: '1m' }), 60],
    ['sliding counters', slidingCounter({ limit: 60, window: '1m' }), slidingCounter({ limit: 50, window: '1m' }), 119],
    ['fixed windows', fixedWindow({ limit: 60, window: '1m' }), fixedWindow({ limit: 10, window: '10s' }), 119],
    [
      'buckets',
      tokenBucket({ capacity: 20, refill: 40, every: '1m' }),
      tokenBucket({ capacity: 9, refill: 7, every: '11s' }),
      60,
    ],
  ])('allow no more than the larger: %s', (_, one, other, most) => {
    const [first, second] = [plan(one), plan(other)];

    for (const everyMs of [100, 333, 700]) {
      for (const turns of [
        [first, second],
        [second, first],
        [first, first, first, second],
      ]) {
        expect(densest(allowedAt(turns, everyMs), 60_000)).toBeLessThanOrEqual(most);
      }
    }
  });

  it.each([
    ['logs', slidingLog({ limit: 5, window: '25s' }), slidingLog({ limit: 1, window: '7s' })],
    ['windows', slidingWindow({ limit: 5, window: '25s' }), slidingWindow({ limit: 1, window: '7s' })],
  ])('keep what the longer one needs while the shorter one writes: sliding %s', (_, one, other) => {
    const store = new ProgramInMemory();
    const take = (policy: Plan, atMs: number, cost = 1): number | undefined => {
      store.atMs = START + atMs;
      return store.perform(TAKE, [{ key: 'one', plan: policy, cost }]).figures[0]?.[ALLOWED];
    };
    const [long, short] = [plan(one), plan(other)];
    take(long, 0, 5);

    expect([take(short, 9_600), take(short, 19_200)]).toEqual([1, 1]);
    expect(take(long, 19_300)).toBe(0);
    expect([take(long, 28_000, 4), take(long, 28_000, 3)]).toEqual([0, 1]);
  });

  it('read a debt as as many units as were taken, whatever their rates', () => {
    const rates = [
      ['10s', 1],
      ['9s', 1],
      ['7s', 3],
      ['1d', 99_991],
    ] as const;
    const buckets = rates.map(([every, refill]) => plan(tokenBucket({ capacity: 9, refill, every })));

    for (const writer of buckets) {
      const store = new ProgramInMemory();
      store.atMs = START;
      store.perform(TAKE, [{ key: 'one', plan: writer, cost: 5 }]);

      for (const reader of buckets) {
        expect(store.perform(PEEK, [{ key: 'one', plan: reader, cost: 0 }]).figures[0]?.[USED]).toBe(5);
      }
    }
  });

  it.each(Object.keys(MAKERS))('tell honest waits, for every pair of numbers and every order: %s', (kind) => {
    const random = seeded(seed);
    for (let trace = 0; trace < cases(150); trace++) {
      const plans = [anyPlan(random, kind), anyPlan(random, kind)] as const;
      const store = new ProgramInMemory();
      let holder = 0;
      store.atMs = START + random.integer(0, 1e9);
      for (let step = 0; step < 40; step++) {
        store.atMs += random.pick([0, 1, 7, 99, 1_000, 30_000]);
        const ask = { key: 'one', plan: random.pick(plans), cost: random.pick([1, 1, 2, 5]), holder: ++holder };
        const wait = store.perform(TAKE, [ask]).figures[0]?.[RETRY_AFTER] ?? 0;
        if (wait <= 0) continue;
        const nowMs = store.atMs;
        store.atMs = nowMs + wait - 1;
        expect(store.perform(PEEK, [ask]).figures[0]?.[ALLOWED]).toBe(0);
        store.atMs = nowMs + wait;
        expect(store.perform(PEEK, [ask]).figures[0]?.[ALLOWED]).toBe(1);
        store.atMs = nowMs;
      }
    }
  });
});

describe('a clock that ran ahead by an hour', () => {
  it.each(Object.keys(MAKERS))('is forgotten when it is right again: %s', (kind) => {
    const random = seeded(seed);
    for (let trace = 0; trace < cases(100); trace++) {
      const policy = anyPlan(random, kind);
      policy.numbers[2] = 0; // until when a key is blocked is never moved
      const [ahead, right] = [new ProgramInMemory(), new ProgramInMemory()];
      ahead.atMs = START + HOUR;
      right.atMs = START;
      for (let step = 0; step < 30; step++) {
        const ask = { key: 'one', plan: policy, cost: 1, holder: step + 1 };
        for (const store of [ahead, right]) store.perform(TAKE, [ask]);
        const laterMs = random.pick([0, 1, 50]);
        ahead.atMs += laterMs;
        right.atMs += laterMs;
      }
      const passedMs = right.atMs - START;
      ahead.atMs = right.atMs;

      const waits = [ahead, right].map(
        (store) =>
          store.perform(PEEK, [{ key: 'one', plan: policy, cost: 1, holder: 99 }]).figures[0]?.[RETRY_AFTER] ?? 0,
      );

      // The state is read as of its write, so that it has aged by less than what has passed; the next window is on the clock.
      const most = Math.max(waits[1] ?? 0, ...policy.numbers.slice(4, 6)) + passedMs + 1;
      expect(waits[0]).toBeLessThanOrEqual(most);
    }
  });
});
