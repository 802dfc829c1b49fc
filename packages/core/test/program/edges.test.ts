import { describe, expect, it } from '@jest/globals';
import type { Policy } from '../../src/policies/index.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { concurrency } from '../../src/policies/concurrency.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { ALLOWED, BLOCKED, REMAINING, RESET_AFTER, USED } from '../../src/program/decide.ts';
import { ProgramStore } from './stores.ts';
import fc from 'fast-check';
import { seeded } from '@sluice/testkit';
import { MAX_COUNT, MAX_PERIOD, scaleUp, MAX_NUMBER, unused, type Nums } from '../../src/program/numbers.ts';
import { limitUntil } from '../../src/program/window.ts';
import { KINDS, type Kind } from '../../src/program/kinds.ts';

describe('a sliding window', () => {
  it('has one number for each block that follows another, and two for one after a pause', () => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: slidingWindow({ limit: 9, window: '10s', precision: '1s' }), cost: 1 };
    for (const afterMs of [0, 1_000, 1_000, 3_000, 1_000]) {
      store.clock.advance(afterMs);
      store.perform('take', [ask]);
    }

    expect(store.keys.get('one')?.s.slice(6)).toEqual([1, -3_001, 1, 1, 1]);
  });
});

describe('two policies that take turns', () => {
  it.each([
    ['windows', slidingWindow, { limit: 9_999, precision: '1ms' }, 501],
    ['logs', slidingLog, { limit: 1_000 }, 3_004],
  ] as const)(
    'join what only the longer one needs before a value is too long, within a hundredth: sliding %s',
    (_, make, { limit, ...more }, most) => {
      const long = make({ limit, window: '1s' });
      const short = make({ limit, window: '100ms', ...more });
      const random = seeded(20_261_130);
      const store = new ProgramStore();
      let taken = [store.clock.atMs];
      store.perform('take', [{ key: 'one', policy: long, cost: 1 }]);
      for (let i = 0; i < 2_500; i++) {
        store.clock.advance(random.pick([1, 1, 1, 1, 1, 1, 1, 2, i > 2_000 ? 40 : 1]));
        const { atMs, figures } = store.perform('take', [{ key: 'one', policy: short, cost: 1 }]);
        taken = taken.filter((at) => at > atMs - 1_010);
        if (figures[0]?.[ALLOWED] === 1) taken.push(atMs);
        const [peeked, own] = [long, short].map(
          (policy) => store.perform('peek', [{ key: 'one', policy, cost: 0 }]).figures[0]?.[USED],
        );

        expect(store.keys.get('one')?.s.length).toBeLessThanOrEqual(most);
        expect(peeked).toBeGreaterThanOrEqual(taken.filter((at) => at > atMs - 1_000).length);
        expect(peeked).toBeLessThanOrEqual(taken.length);
        expect(own).toBe(taken.filter((at) => at > atMs - 100).length);
      }
    },
  );

  it('write no value that is too long to be read, even where several of them need all its blocks', () => {
    const store = new ProgramStore();
    const sliding = (window: '1s' | '10s' | '100s' | '1000s', precision: '10ms' | '100ms' | '1s' | '10s'): Policy =>
      slidingWindow({ limit: 9_999, window, precision });
    store.perform('take', [{ key: 'one', policy: sliding('1000s', '10s'), cost: 1 }]);
    let longest = 0;
    for (const [policy, blockMs] of [
      [sliding('1s', '10ms'), 10],
      [sliding('10s', '100ms'), 100],
      [sliding('100s', '1s'), 1_000],
    ] as const) {
      store.clock.advance(blockMs / 2);
      for (let i = 0; i < 90; i++) {
        store.clock.advance(i % 2 === 0 ? blockMs - 1 : blockMs + 1);
        store.perform('take', [{ key: 'one', policy, cost: 1 }]);
        longest = Math.max(longest, store.keys.get('one')?.s.length ?? 0);
      }
    }

    expect(longest).toBe(500);
    const { figures } = store.perform('peek', [{ key: 'one', policy: sliding('1000s', '10s'), cost: 0 }]);
    expect(figures[0]?.[USED]).toBe(271);
  });
});

describe('where units are counted', () => {
  const sliding = { key: 'one', policy: slidingWindow({ limit: 9, window: '10s', precision: '1s' }), cost: 1 };
  const read = (store: ProgramStore, policy: Policy): readonly number[] =>
    store.perform('peek', [{ key: 'one', policy, cost: 0 }]).figures[0] ?? [];

  /** Takes units a second apart, and returns when those of each take leave the window. */
  const takeEachSecond = (store: ProgramStore, times: number): readonly number[] =>
    Array.from({ length: times }, () => {
      const { atMs, figures } = store.perform('take', [sliding]);
      store.clock.advance(1_000);
      return atMs + (figures[0]?.[RESET_AFTER] ?? 0);
    });

  it('stays the same while blocks after it are empty', () => {
    const store = new ProgramStore();
    const until = takeEachSecond(store, 3);
    store.perform('give', [{ ...sliding, until: until[1] }]);
    store.clock.advance(7_998);
    expect(read(store, sliding.policy)[USED]).toBe(2);
    store.perform('give', [{ ...sliding, until: until[2] }]);
    expect(read(store, sliding.policy)[RESET_AFTER]).toBe(1);
    store.clock.advance(1);
    expect(read(store, sliding.policy)[USED]).toBe(0);
  });

  it('is not the next block once their own is gone', () => {
    const store = new ProgramStore();
    store.clock.advance(999); // to the last millisecond of a block
    const until = takeEachSecond(store, 3);
    store.perform('give', [{ ...sliding, until: until[1] }]);
    store.perform('take', [sliding]); // opens a block, and forgets the empty one
    store.perform('give', [{ ...sliding, until: until[1] }]);
    expect(read(store, sliding.policy)[USED]).toBe(3);
  });

  it('follows the latest limit of the longest window', () => {
    const store = new ProgramStore();
    const long = (limit: number): Policy => slidingWindow({ limit, window: '10s' });
    store.perform('take', [{ key: 'one', policy: long(5), cost: 1 }]);
    store.perform('take', [{ key: 'one', policy: long(9), cost: 7 }]);
    store.clock.advance(1_000);
    expect(read(store, slidingWindow({ limit: 3, window: '1s' }))[REMAINING]).toBe(1);
  });

  it('is exact to the millisecond where blocks are that short', () => {
    const store = new ProgramStore();
    const [long, short] = (['100ms', '10ms'] as const).map((window) =>
      slidingWindow({ limit: 99, window, precision: '1ms' }),
    ) as [Policy, Policy];
    store.perform('take', [{ key: 'one', policy: long, cost: 1 }]);
    for (const afterMs of [2, 1, 17]) {
      store.clock.advance(afterMs);
      store.perform('take', [{ key: 'one', policy: short, cost: 1 }]);
    }
    store.clock.advance(82);
    expect(read(store, long)[USED]).toBe(2);
  });
});

describe('a sliding counter', () => {
  const counting = (window: '1s' | '3s' | '10s' | '1d'): Policy => slidingCounter({ limit: 9, window });

  it('reads the units of two other lengths by its own', () => {
    const store = new ProgramStore();
    store.perform('take', [{ key: 'one', policy: counting('10s'), cost: 2 }]);
    store.clock.advance(100);
    store.perform('take', [{ key: 'one', policy: counting('1s'), cost: 2 }]);
    store.clock.advance(1_400);
    expect(store.perform('peek', [{ key: 'one', policy: counting('3s'), cost: 0 }]).figures[0]?.[USED]).toBe(4);
  });

  it('keeps a single unit of the window before when those after it are given back', () => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: counting('10s'), cost: 1 };
    store.perform('take', [ask]);
    store.clock.advance(10_000);
    const { atMs, figures } = store.perform('take', [ask]);
    store.perform('give', [{ ...ask, until: atMs + (figures[0]?.[RESET_AFTER] ?? 0) }]);
    const told = store.perform('peek', [{ ...ask, cost: 0 }]).figures[0];
    expect([told?.[USED], told?.[RESET_AFTER]]).toEqual([1, 10_000]);
  });

  it.each(['take', 'charge'] as const)('counts no more than it can weigh exactly, charged after a %s', (op) => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: counting('1d'), cost: 1 };
    const { atMs, figures } = store.perform('take', [ask]);
    const until = op === 'take' ? atMs + (figures[0]?.[RESET_AFTER] ?? 0) : 0;
    store.perform('charge', [{ ...ask, cost: MAX_COUNT, until }]);
    expect(store.keys.get('one')?.s[2]).toBe(Math.floor(MAX_NUMBER / 86_400_000));
  });

  it('moves back the windows of the shorter policies by themselves', () => {
    const state = [1_000, 1_000, 0, 5, 5, 1_900, 100, 5, 0] as number[] as Nums;
    expect([KINDS.c.move(state, 1_800), state[0], state[5]]).toEqual([true, 1_000, 1_800]);
  });
});

describe('a key', () => {
  const ask = { key: 'one', policy: fixedWindow({ limit: 5, window: '1m' }), cost: 1 };

  it('has nothing left of a block that has ended, not even of a millisecond', () => {
    const store = new ProgramStore();
    store.perform('take', [ask]);
    expect(store.perform('block', [{ ...ask, cost: 0, until: 1 }]).figures[0]?.[BLOCKED]).toBe(1);
    store.clock.advance(1);
    store.perform('take', [ask]);
    expect(store.keys.get('one')?.blocked).toBe(0);
  });

  it('is not written by a charge of nothing', () => {
    const store = new ProgramStore();
    for (const policy of [ask.policy, slidingWindow({ limit: 5, window: '1m' })]) {
      store.perform('charge', [{ key: 'one', policy, cost: 0 }]);
    }
    expect(store.keys.size).toBe(0);
  });

  it('keeps no reset of slots, which cannot be given back twice', () => {
    const store = new ProgramStore();
    const slot = { key: 'one', policy: concurrency({ limit: 5, ttl: '1m' }), cost: 1, holder: 7 };
    store.perform('take', [slot]);
    store.perform('reset', [slot]);
    expect(store.keys.get('one')?.reset).toBe(undefined);
  });

  it.each([
    fixedWindow({ limit: 5, window: '1m' }),
    slidingWindow({ limit: 5, window: '1m' }),
    slidingCounter({ limit: 5, window: '1m' }),
    slidingLog({ limit: 5, window: '1m' }),
    tokenBucket({ capacity: 5, refill: 1, every: '1m' }),
    tokenBucket({ capacity: 5, refill: 1, every: '1m', mode: 'interval' }),
  ])('has at most 2^52 units, however many are charged: %j', (policy) => {
    const store = new ProgramStore();
    for (const cost of [MAX_COUNT - 1, 3, MAX_NUMBER]) {
      store.perform('charge', [{ key: 'one', policy, cost }]);
      store.clock.advance(7_000);
    }
    expect(store.perform('peek', [{ key: 'one', policy, cost: 0 }]).figures[0]?.[USED]).toBeLessThanOrEqual(MAX_COUNT);
  });
});

describe('a sliding log', () => {
  it.each([
    [
      'is beside a longer one until that has ended, to the millisecond',
      [5, 10],
      [
        [5, 0],
        [5, 500],
      ],
      [999, 0],
      [1_000, 2],
    ],
    [
      'has the room that the latest limit of the longer one leaves',
      [5, 9],
      [
        [1, 0],
        [5, 0],
      ],
      [399, 0],
      [400, 2],
    ],
  ] as const)('%s', (_, limits, taken, before, after) => {
    const store = new ProgramStore();
    const start = store.clock.now();
    const perform = (atMs: number, cost: number, limit: number, window: number) => {
      store.clock.advance(start + atMs - store.clock.now());
      const policy = slidingLog({ limit, window: `${window}ms` });
      return store.perform(cost > 0 ? 'take' : 'peek', [{ key: 'one', policy, cost }]).figures[0]?.[REMAINING];
    };
    for (const [i, [cost, atMs]] of taken.entries()) perform(atMs, cost, limits[i] as number, 1_000);

    for (const [atMs, remaining] of [before, after]) expect(perform(atMs, 0, 2, 400)).toBe(remaining);
  });

  it('has at most a thousand entries, the last of which takes what comes later', () => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: slidingLog({ limit: 1_000, window: '1d' }), cost: 1 };
    for (let i = 0; i < 1_200; i++) {
      store.perform('charge', [ask]);
      store.clock.advance(1);
    }

    const numbers = store.keys.get('one')?.s.length ?? 0;

    expect((numbers - 4) / 3).toBe(1_000);
    expect(store.perform('peek', [ask]).figures[0]?.[USED]).toBe(1_200);
  });
});

const period = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: MAX_PERIOD }));
const count = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: MAX_COUNT }));

it('slots of a value that says how long a log is kept are counted as slots', () => {
  const policy = concurrency({ limit: 5, ttl: '1m' });
  const store = new ProgramStore();
  store.perform('take', [{ key: 'one', policy, cost: 1, holder: 7 }]);
  const { s } = store.keys.get('one') as { s: number[] };
  s[2] = 60_000;

  expect(store.perform('peek', [{ key: 'one', policy, cost: 1 }]).figures[0]?.[REMAINING]).toBe(4);
});

describe('a count in other parts', () => {
  it('is the exact ratio, rounded up to a part, and at most 2^52', () => {
    fc.assert(
      fc.property(count, period, period, (units, to, from) => {
        const exact = (BigInt(units) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);

        expect(scaleUp(units, to, from)).toBe(exact < BigInt(MAX_COUNT) ? Number(exact) : MAX_COUNT);
      }),
      { numRuns: 2_000 },
    );
  });
});

const INSTANT = [0, MAX_NUMBER] as const;
const COUNT = [0, MAX_COUNT] as const;
const UNITS = [1, MAX_COUNT] as const;
const PERIOD = [1, MAX_PERIOD] as const;
/** By a window of 1024 ms. */
const WEIGHTED = [0, Math.floor(MAX_NUMBER / 1_024)] as const;

/** A state of each kind, and the least and largest that may stand in each of its places. */
const STATES: readonly (readonly [Kind, state: readonly number[], bounds: readonly (readonly [number, number])[]])[] = [
  ['f', [9, 1_000, 5, 5], [INSTANT, PERIOD, UNITS, COUNT]],
  ['f', [9, 1_000, 5, 5, 9, 10, 5], [INSTANT, [10, MAX_PERIOD], COUNT, COUNT, INSTANT, [1, 1_000], COUNT]],
  ['i', [9, 1, 1, 1], [INSTANT, UNITS, UNITS, PERIOD]],
  ['i', [9, 1_024, 1, 1_024], [INSTANT, [1, MAX_COUNT / 1_024], UNITS, [1, MAX_PERIOD]]],
  ['t', [9, 5, 7, 1], [INSTANT, UNITS, PERIOD, UNITS]],
  ['s', [9, 10, 3, 5, 1_000, 5], [INSTANT, [4, MAX_PERIOD], [0, 9], COUNT, PERIOD, COUNT]],
  ['s', [9, 10, 3, 5, 1_000, 5, 1], [INSTANT, [4, MAX_PERIOD], [0, 9], COUNT, PERIOD, COUNT, [-MAX_PERIOD, MAX_COUNT]]],
  ['c', [9, 1, 5, 5, 5], [INSTANT, PERIOD, COUNT, COUNT, COUNT]],
  ['c', [9, 1, 5, 5, 5, 9, 1_024, 5, 5], [INSTANT, PERIOD, COUNT, COUNT, COUNT, INSTANT, PERIOD, WEIGHTED, WEIGHTED]],
  ['g', [9, 9, 1_000, 5, 1, 1, 0], [[9, MAX_NUMBER], [0, 9], [0, MAX_PERIOD], COUNT, INSTANT, UNITS, INSTANT]],
];

describe('a state', () => {
  it.each(STATES)('of kind %s is read if each of its numbers is within its bounds: %j', (kind, state, bounds) => {
    const reads = (numbers: readonly number[]): boolean => KINDS[kind].reads([...numbers] as number[] as Nums);

    expect(reads(state)).toBe(true);
    for (const [place, [least, largest]] of bounds.entries()) {
      expect([place, reads(state.with(place, least)), reads(state.with(place, least - 1))]).toEqual([
        place,
        true,
        false,
      ]);
      expect([place, reads(state.with(place, largest)), reads(state.with(place, largest + 1))]).toEqual([
        place,
        true,
        false,
      ]);
    }
  });

  it.each(STATES)('of kind %s has no number more or less: %j', (kind, state) => {
    const reads = (numbers: readonly number[]): boolean => KINDS[kind].reads([...numbers] as number[] as Nums);

    expect(reads(state.slice(0, 3))).toBe(false);
    expect(kind === 's' || !reads([...state, 1])).toBe(true);
  });

  it('of a log has an entry, and may be written at 0', () => {
    const reads = (...numbers: readonly number[]): boolean => KINDS.g.reads(numbers as number[] as Nums);

    expect([reads(9, 9, 1_000, 5), reads(0, 0, 1_000, 5, 1, 1, 0)]).toEqual([false, true]);
  });

  it.each([
    ['s', [9, 10, 3, 5, 1_000, 5], 495, 1],
    ['g', [9, 9, 1_000, 5], 1_332, 3],
  ] as const)('of kind %s is not endless', (kind, state, entries, size) => {
    const reads = (count: number): boolean =>
      KINDS[kind].reads([...state, ...new Array<number>(count * size).fill(1)] as number[] as Nums);

    expect([reads(entries), reads(entries + 1)]).toEqual([true, false]);
  });
});

describe('fixed windows of several lengths', () => {
  const [long, middle, short] = [10_000, 3_000, 1_000].map((window) => fixedWindow({ limit: 9, window }));
  const use = (...steps: readonly (readonly [Policy | undefined, atMs: number])[]): ((policy?: Policy) => unknown) => {
    const store = new ProgramStore();
    const start = store.clock.now();
    const perform = (op: 'take' | 'peek', policy: Policy | undefined) =>
      store.perform(op, [{ key: 'one', policy: policy as Policy, cost: op === 'take' ? 1 : 0 }]).figures[0];
    for (const [policy, atMs] of steps) {
      store.clock.advance(start + atMs - store.clock.now());
      perform('take', policy);
    }
    return (policy) => perform('peek', policy)?.[USED];
  };

  it('begin the longest afresh at its end, though a shorter one goes on', () => {
    expect(use([long, 0], [middle, 9_000], [middle, 10_000])(long)).toBe(1);
  });

  it('count in the longer of the shorter ones', () => {
    const used = use([long, 0], [short, 5_000], [middle, 5_500], [short, 6_500]);
    expect(used(middle)).toBe(3);
  });

  it('know the limit of one by its end', () => {
    const state = [1_000, 500, 3, 9] as number[] as Nums;
    expect([limitUntil(state, 1_500), limitUntil(state, 1_000), limitUntil(unused(), 1_500)]).toEqual([
      9,
      Infinity,
      Infinity,
    ]);
  });
});
