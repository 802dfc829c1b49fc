import { describe, expect, it } from '@jest/globals';
import type { Policy } from '../../src/policies/index.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { ALLOWED, USED } from '../../src/program/decide.ts';
import { ProgramStore } from './stores.ts';
import fc from 'fast-check';
import { seeded } from '@sluice/testkit';
import { MAX_COUNT, MAX_PERIOD, scaleUp, MAX_NUMBER, type Nums } from '../../src/program/numbers.ts';
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

describe('a sliding log', () => {
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

  it.each([
    ['s', [9, 10, 3, 5, 1_000, 5], 495, 1],
    ['g', [9, 9, 1_000, 5], 1_332, 3],
  ] as const)('of kind %s is not endless', (kind, state, entries, size) => {
    const reads = (count: number): boolean =>
      KINDS[kind].reads([...state, ...new Array<number>(count * size).fill(1)] as number[] as Nums);

    expect([reads(entries), reads(entries + 1)]).toEqual([true, false]);
  });
});
