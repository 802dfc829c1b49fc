import { describe, expect, it } from '@jest/globals';
import { seeded } from '@sluice/testkit';
import fc from 'fast-check';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { ALLOWED, BLOCKED, REMAINING } from '../../src/program/decide.ts';
import { KINDS, type Kind } from '../../src/program/kinds.ts';
import { MAX_COUNT, MAX_PERIOD, scaleUp, MAX_NUMBER, unused, type Nums } from '../../src/program/numbers.ts';
import { limitUntil } from '../../src/program/window.ts';
import { everyPolicy } from './any-policy.ts';
import { ProgramStore } from './stores.ts';

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
      store.ask('take', long);
      for (let i = 0; i < 2_500; i++) {
        store.clock.advance(random.pick([1, 1, 1, 1, 1, 1, 1, 2, i > 2_000 ? 40 : 1]));
        const { atMs } = store.clock;
        taken = taken.filter((at) => at > atMs - 1_010);
        if (store.ask('take', short)[ALLOWED] === 1) taken.push(atMs);
        const peeked = store.used(long);

        expect(store.state?.length).toBeLessThanOrEqual(most);
        expect(peeked).toBeGreaterThanOrEqual(taken.filter((at) => at > atMs - 1_000).length);
        expect(peeked).toBeLessThanOrEqual(taken.length);
        expect(store.used(short)).toBe(taken.filter((at) => at > atMs - 100).length);
      }
    },
  );

  it('write no value that is too long to be read, even where several of them need all its blocks', () => {
    const store = new ProgramStore();
    const longest = slidingWindow({ limit: 9_999, window: '1000s', precision: '10s' });
    store.ask('take', longest);
    let most = 0;
    for (const blockMs of [10, 100, 1_000]) {
      const policy = slidingWindow({ limit: 9_999, window: 100 * blockMs, precision: blockMs });
      store.clock.advance(blockMs / 2);
      for (let i = 0; i < 90; i++) {
        store.clock.advance(i % 2 === 0 ? blockMs - 1 : blockMs + 1);
        store.ask('take', policy);
        most = Math.max(most, store.state?.length ?? 0);
      }
    }

    expect([most, store.used(longest)]).toEqual([500, 271]);
  });
});

describe('a key', () => {
  const policies = everyPolicy(5, 60_000);
  const { fixedWindow: fixed, slidingWindow: sliding, concurrency: slots } = policies;

  it('has one number for each block that follows another, and two for one after a pause', () => {
    const store = new ProgramStore();
    for (const afterMs of [0, 1_000, 1_000, 3_000, 1_000]) {
      store.clock.advance(afterMs);
      store.ask('take', slidingWindow({ limit: 9, window: '10s', precision: '1s' }));
    }

    expect(store.state?.slice(6)).toEqual([1, -3_001, 1, 1, 1]);
  });

  it('has nothing left of a block that has ended, not even of a millisecond', () => {
    const store = new ProgramStore();
    store.ask('take', fixed);
    expect(store.ask('block', fixed, 0, { until: 1 })[BLOCKED]).toBe(1);
    store.clock.advance(1);
    store.ask('take', fixed);
    expect(store.keys.get('one')?.blocked).toBe(0);
  });

  it('is not written by a charge of nothing', () => {
    const store = new ProgramStore();
    for (const policy of [fixed, sliding]) store.ask('charge', policy, 0);
    expect(store.keys.size).toBe(0);
  });

  it('keeps no reset of slots, which cannot be given back twice', () => {
    const store = new ProgramStore();
    for (const op of ['take', 'reset'] as const) store.ask(op, slots, 1, { holder: 7 });
    expect(store.keys.get('one')?.reset).toBe(undefined);
  });

  it.each(Object.entries(policies))('has at most 2^52 units, however many are charged: %s', (_kind, policy) => {
    const store = new ProgramStore();
    for (const cost of [MAX_COUNT - 1, 3, MAX_NUMBER]) {
      store.ask('charge', policy, cost);
      store.clock.advance(7_000);
    }
    expect(store.used(policy)).toBeLessThanOrEqual(MAX_COUNT);
  });

  it('has at most a thousand entries of a log, the last of which takes what comes later', () => {
    const store = new ProgramStore();
    const policy = slidingLog({ limit: 1_000, window: '1d' });
    for (let i = 0; i < 1_200; i++) {
      store.ask('charge', policy);
      store.clock.advance(1);
    }

    expect([((store.state?.length ?? 0) - 4) / 3, store.used(policy)]).toEqual([1_000, 1_200]);
  });

  it('has slots that are counted as slots, though its value says how long a log is kept', () => {
    const store = new ProgramStore();
    store.ask('take', slots, 1, { holder: 7 });
    (store.state as number[])[2] = 60_000;

    expect(store.ask('peek', slots)[REMAINING]).toBe(4);
  });
});

it('a count in other parts is the exact ratio, rounded up to a part, and at most 2^52', () => {
  const period = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: MAX_PERIOD }));
  const count = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: MAX_COUNT }));
  fc.assert(
    fc.property(count, period, period, (units, to, from) => {
      const exact = (BigInt(units) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);

      expect(scaleUp(units, to, from)).toBe(exact < BigInt(MAX_COUNT) ? Number(exact) : MAX_COUNT);
    }),
    { numRuns: 2_000 },
  );
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

const reads = (kind: Kind, numbers: readonly number[]): boolean => KINDS[kind].reads(numbers as number[] as Nums);

describe('a state', () => {
  it.each(STATES)('of kind %s is read if each of its numbers is within its bounds: %j', (kind, state, bounds) => {
    const least = bounds.map(([bound], place) => state.with(place, bound));
    const largest = bounds.map(([, bound], place) => state.with(place, bound));
    const beyond = bounds.flatMap(([from, to], place) => [state.with(place, from - 1), state.with(place, to + 1)]);
    const ofOtherLength = [state.slice(0, 3), ...(kind === 's' ? [] : [[...state, 1]])];

    expect([state, ...least, ...largest].filter((numbers) => !reads(kind, numbers))).toEqual([]);
    expect([...beyond, ...ofOtherLength].filter((numbers) => reads(kind, numbers))).toEqual([]);
  });

  it('of a log has an entry, and may be written at 0', () => {
    expect([reads('g', [9, 9, 1_000, 5]), reads('g', [0, 0, 1_000, 5, 1, 1, 0])]).toEqual([false, true]);
  });

  it.each([
    ['s', [9, 10, 3, 5, 1_000, 5], 495, 1],
    ['g', [9, 9, 1_000, 5], 1_332, 3],
  ] as const)('of kind %s is not endless', (kind, state, entries, size) => {
    const isRead = (count: number): boolean => reads(kind, [...state, ...new Array<number>(count * size).fill(1)]);

    expect([isRead(entries), isRead(entries + 1)]).toEqual([true, false]);
  });

  it('of counters moves back the windows of the shorter policies by themselves', () => {
    const state = [1_000, 1_000, 0, 5, 5, 1_900, 100, 5, 0] as number[] as Nums;

    expect([KINDS.c.move(state, 1_800), state[0], state[5]]).toEqual([true, 1_000, 1_800]);
  });

  it('of a fixed window tells the limit of a longer one by its end', () => {
    const state = [1_000, 500, 3, 9] as number[] as Nums;
    const limits = [limitUntil(state, 1_500), limitUntil(state, 1_000), limitUntil(unused(), 1_500)];

    expect(limits).toEqual([9, Infinity, Infinity]);
  });
});
