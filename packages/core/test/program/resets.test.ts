import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { RESET_AFTER, RETRY_AFTER } from '../../src/program/decide.ts';
import { everyPolicy } from './any-policy.ts';
import { ProgramStore } from './stores.ts';

const inTime = Object.entries(everyPolicy(9, 60_000)).filter(([kind]) => kind !== 'concurrency');

describe('after a reset', () => {
  describe.each(inTime)('%s', (_name, policy) => {
    /** A key on which five units were taken, then a reset, then three. */
    function takeTwice(betweenMs: number, edits: readonly ('reset' | 'block')[] = ['reset']) {
      const store = new ProgramStore();
      const take = (cost: number) => {
        const until = store.clock.atMs + (store.ask('take', policy, cost)[RESET_AFTER] ?? 0);
        const more = { until, holder: store.clock.atMs };
        return (op: 'give' | 'charge') => (store.ask(op, policy, cost, more), store.used(policy));
      };
      const first = take(5);
      store.clock.advance(betweenMs);
      for (const op of edits) store.ask(op, policy, 0, { until: 0 });
      store.clock.advance(betweenMs);
      return { first, second: take(3) };
    }

    it('in its millisecond, gives nothing back and charges all: what was taken may have been taken later', () => {
      expect([takeTwice(0).second('give'), takeTwice(0).second('charge')]).toEqual([3, 6]);
    });

    it.each([
      [10, ['reset']],
      [10, ['reset', 'reset']],
      [10, ['reset', 'block']],
    ] as const)('neither gives back nor charges what was taken before it: %i ms apart, after %p', (ms, edits) => {
      expect([takeTwice(ms, edits).first('give'), takeTwice(ms, edits).first('charge')]).toEqual([3, 3]);
    });

    it('gives back what was taken later', () => {
      expect(takeTwice(10).second('give')).toBe(0);
    });
  });
});

describe('after a reset and a shorter use', () => {
  it.each(['continuous', 'interval'] as const)('a bucket gives nothing back of before: %s', (mode) => {
    const policy = tokenBucket({ capacity: 9, refill: 1, every: '1m', mode });
    const store = new ProgramStore();
    const { atMs } = store.clock;
    const until = atMs + (store.ask('take', policy, 9)[RESET_AFTER] ?? 0);
    store.ask('reset', policy, 0);
    store.ask('take', policy, 1);
    store.clock.advance(61_000);
    store.ask('take', policy, 9);

    store.ask('give', policy, 9, { until, holder: atMs });

    expect(store.used(policy)).toBe(9);
  });
});

describe('a clock that ran ahead', () => {
  it.each([
    ['fixed window', fixedWindow, {}],
    ['fixed window on the clock', fixedWindow, { align: 'clock' }],
    ['sliding counter', slidingCounter, {}],
  ] as const)('locks no shorter window that takes turns with a longer one: %s', (_name, make, options) => {
    const short = make({ limit: 5, window: '1m', ...options });
    const long = make({ limit: 1000, window: '2h', ...options });
    for (const aheadMs of [3_600_000, 600_000]) {
      const store = new ProgramStore();
      store.ask('take', long);
      store.clock.advance(aheadMs);
      store.ask('take', long);
      store.ask('take', short, 4);
      store.ask('take', short);
      store.clock.atMs -= aheadMs;

      const peeked = store.ask('peek', short, 5);
      const taken = store.ask('take', short, 5);

      expect(taken).toEqual(peeked);
      expect(taken[RETRY_AFTER]).toBeLessThanOrEqual(120_000);
    }
  });
});
