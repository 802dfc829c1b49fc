import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { ALLOWED, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { compile, type Policy } from '../../src/policies/index.ts';
import { leakyBucket } from '../../src/policies/leaky-bucket.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { anyPolicy, NAMES } from './any-policy.ts';
import { ProgramStore, START } from './stores.ts';

const seed = testSeed(20_261_129);
const interval = { mode: 'interval' } as const;

/** The instants at which one unit was allowed, when policies ask in turn on one key. */
function allowedAt(policies: readonly Policy[], everyMs: number, forMs = 3_600_000): readonly number[] {
  const store = new ProgramStore();
  const allowed: number[] = [];
  for (let i = 0; i * everyMs < forMs; i++) {
    store.clock.atMs = START + i * everyMs;
    const { figures } = store.perform('take', [
      { key: 'one', policy: policies[i % policies.length] as Policy, cost: 1 },
    ]);
    if (figures[0]?.[ALLOWED] === 1) allowed.push(store.clock.atMs);
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

const orders = (one: Policy, other: Policy): readonly (readonly Policy[])[] => [
  [one, other],
  [other, one],
  [one, one, other],
  [other, one, one, one],
];

const PAIRS: readonly (readonly [what: string, one: Policy, other: Policy, mostInAMinute: number])[] = [
  [
    'buckets',
    tokenBucket({ capacity: 5, refill: 1, every: '10s' }),
    tokenBucket({ capacity: 5, refill: 1, every: '9s' }),
    12,
  ],
  [
    'buckets of other sizes',
    tokenBucket({ capacity: 20, refill: 40, every: '1m' }),
    tokenBucket({ capacity: 9, refill: 7, every: '11s' }),
    60,
  ],
  [
    'buckets that are refilled at intervals',
    tokenBucket({ capacity: 5, refill: 1, every: '10s', ...interval }),
    tokenBucket({ capacity: 5, refill: 1, every: '9s', ...interval }),
    12,
  ],
  [
    'buckets that are refilled at long and short intervals',
    tokenBucket({ capacity: 60, refill: 60, every: '1m', ...interval }),
    tokenBucket({ capacity: 10, refill: 1, every: '1s', ...interval }),
    120,
  ],
  [
    'leaky buckets',
    leakyBucket({ limit: 1, window: '10s', maxDelay: '20s' }),
    leakyBucket({ limit: 1, window: '9s', maxDelay: '20s' }),
    10,
  ],
];

describe('two policies of one kind that take turns on a key', () => {
  it.each(PAIRS)('are together as fast as the slower one alone: %s', (_, one, other) => {
    const slower = Math.min(allowedAt([one], 1_000).length, allowedAt([other], 1_000).length);

    for (const order of orders(one, other)) expect(allowedAt(order, 1_000).length).toBeGreaterThanOrEqual(slower);
  });

  it.each(PAIRS)('allow no more than the larger: %s', (_, one, other, most) => {
    for (const everyMs of [100, 333, 700]) {
      for (const order of orders(one, other)) {
        expect(densest(allowedAt(order, everyMs), 60_000)).toBeLessThanOrEqual(most);
      }
    }
  });

  it.each(NAMES)('tell honest waits, for every pair of numbers and every order: %s', (kind) => {
    const random = seeded(seed);
    for (let trace = 0; trace < cases(150); trace++) {
      const one = anyPolicy(random, kind);
      const pair = [one, trace % 3 === 0 ? one : anyPolicy(random, kind)] as const;
      const store = new ProgramStore();
      store.clock.advance(random.integer(0, 1e9));
      for (let step = 0; step < 40; step++) {
        store.clock.advance(random.pick([0, 1, 7, 99, 1_000, 30_000]));
        const ask = { key: 'one', policy: random.pick(pair), cost: random.pick([1, 1, 2, 5]), holder: step + 1 };
        const wait = store.perform('take', [ask]).figures[0]?.[RETRY_AFTER] ?? 0;
        if (wait <= 0) continue;
        store.clock.advance(wait - 1);
        expect(store.perform('peek', [ask]).figures[0]?.[ALLOWED]).toBe(0);
        store.clock.advance(1);
        expect(store.perform('peek', [ask]).figures[0]?.[ALLOWED]).toBe(1);
        store.clock.advance(-wait);
      }
    }
  });

  it('read a debt as as many units as were taken, whatever their rates', () => {
    const rates = [
      ['10s', 1],
      ['9s', 1],
      ['7s', 3],
      ['1d', 99_991],
    ] as const;
    const buckets = rates.map(([every, refill]) => tokenBucket({ capacity: 9, refill, every }));

    for (const writer of buckets) {
      const store = new ProgramStore();
      store.perform('take', [{ key: 'one', policy: writer, cost: 5 }]);

      for (const policy of buckets) {
        expect(store.perform('peek', [{ key: 'one', policy, cost: 0 }]).figures[0]?.[USED]).toBe(5);
      }
    }
  });

  it.each([
    [
      'buckets',
      tokenBucket({ capacity: 4e12, refill: 4e12, every: '1s' }),
      tokenBucket({ capacity: 1, refill: 1, every: '30d' }),
    ],
    [
      'buckets that are refilled at intervals',
      tokenBucket({ capacity: 1e15 - 1, refill: 1, every: '1ms', ...interval }),
      tokenBucket({ capacity: 1, refill: 1, every: '30d', ...interval }),
    ],
    ['fixed windows', fixedWindow({ limit: 1e15 - 1, window: '1ms' }), fixedWindow({ limit: 1, window: '30d' })],
    ['sliding counters', slidingCounter({ limit: 1e12, window: '1s' }), slidingCounter({ limit: 1, window: '30d' })],
    ['sliding windows', slidingWindow({ limit: 1e15 - 1, window: '1ms' }), slidingWindow({ limit: 1, window: '30d' })],
  ])('keep exact figures with the largest numbers beside the smallest: %s', (_, large, small) => {
    const random = seeded(seed);
    const store = new ProgramStore();
    for (let step = 0; step < 300; step++) {
      const [policy, other] = random.pick([
        [large, small],
        [small, large],
      ]);
      const cost = compile(random.pick([policy, other])).limit;
      const { figures } = store.perform(random.pick(['take', 'charge', 'charge', 'give']), [
        { key: 'one', policy, cost },
      ]);
      expect(figures[0]?.every(Number.isSafeInteger)).toBe(true);
      expect([...store.keys.values()].every(({ rule, s }) => s.length === 0 || rule.family.reads(s))).toBe(true);
      store.clock.advance(random.pick([0, 1, 1_000]));
    }
  });
});
