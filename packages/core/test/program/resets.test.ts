import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Policy } from '../../src/policies/index.ts';
import { leakyBucket } from '../../src/policies/leaky-bucket.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { RESET_AFTER, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { ProgramStore } from './stores.ts';

const bucket = { capacity: 9, refill: 1, every: '1m' } as const;
const POLICIES: readonly (readonly [name: string, policy: Policy])[] = [
  ['fixed window', fixedWindow({ limit: 9, window: '1m' })],
  ['fixed window on the clock', fixedWindow({ limit: 9, window: '1m', align: 'clock' })],
  ['sliding window', slidingWindow({ limit: 9, window: '1m' })],
  ['sliding counter', slidingCounter({ limit: 9, window: '1m' })],
  ['sliding log', slidingLog({ limit: 9, window: '1m' })],
  ['token bucket', tokenBucket(bucket)],
  ['bucket that is refilled at intervals', tokenBucket({ ...bucket, mode: 'interval' })],
  ['leaky bucket', leakyBucket({ limit: 1, window: '10s', maxDelay: '90s' })],
];

describe('after a reset', () => {
  describe.each(POLICIES)('%s', (_name, policy) => {
    /** A key on which five units were taken, then a reset, then three. */
    function takeTwice(
      betweenMs: number,
      edits: readonly ('reset' | 'block')[] = ['reset'],
    ): { store: ProgramStore; first: object; second: object } {
      const store = new ProgramStore();
      const take = (cost: number): object => {
        const { atMs, figures } = store.perform('take', [{ key: 'one', policy, cost }]);
        return { key: 'one', policy, cost, until: atMs + (figures[0]?.[RESET_AFTER] ?? 0), holder: atMs };
      };
      const first = take(5);
      store.clock.advance(betweenMs);
      for (const op of edits) store.perform(op, [{ key: 'one', policy, cost: 0, until: 0 }]);
      store.clock.advance(betweenMs);
      return { store, first, second: take(3) };
    }
    const used = (store: ProgramStore): number | undefined =>
      store.perform('peek', [{ key: 'one', policy, cost: 0 }]).figures[0]?.[USED];

    it('in its millisecond, gives nothing back and charges all: what was taken may have been taken later', () => {
      const [given, charged] = (['give', 'charge'] as const).map((op) => {
        const { store, second } = takeTwice(0);
        store.perform(op, [second as never]);
        return used(store);
      });

      expect([given, charged]).toEqual([3, 6]);
    });

    it.each([
      [10, ['reset']],
      [10, ['reset', 'reset']],
      [10, ['reset', 'block']],
    ] as const)('neither gives back nor charges what was taken before it: %i ms apart, after %p', (ms, edits) => {
      for (const op of ['give', 'charge'] as const) {
        const { store, first } = takeTwice(ms, edits);
        store.perform(op, [first as never]);

        expect(used(store)).toBe(3);
      }
    });

    it('gives back what was taken later', () => {
      const { store, second } = takeTwice(10);
      store.perform('give', [second as never]);

      expect(used(store)).toBe(0);
    });
  });
});

describe('after a reset and a shorter use', () => {
  it.each(['continuous', 'interval'] as const)('a bucket gives nothing back of before: %s', (mode) => {
    const policy = tokenBucket({ ...bucket, mode });
    const store = new ProgramStore();
    const ask = { key: 'one', policy };
    const { atMs, figures } = store.perform('take', [{ ...ask, cost: 9 }]);
    store.perform('reset', [{ ...ask, cost: 0 }]);
    store.perform('take', [{ ...ask, cost: 1 }]);
    store.clock.advance(61_000);
    store.perform('take', [{ ...ask, cost: 9 }]);

    const until = atMs + (figures[0]?.[RESET_AFTER] ?? 0);
    store.perform('give', [{ ...ask, cost: 9, until, holder: atMs }]);

    expect(store.perform('peek', [{ ...ask, cost: 0 }]).figures[0]?.[USED]).toBe(9);
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
      store.perform('take', [{ key: 'one', policy: long, cost: 1 }]);
      store.clock.advance(aheadMs);
      store.perform('take', [{ key: 'one', policy: long, cost: 1 }]);
      store.perform('take', [{ key: 'one', policy: short, cost: 4 }]);
      store.perform('take', [{ key: 'one', policy: short, cost: 1 }]);
      store.clock.atMs -= aheadMs;

      const peeked = store.perform('peek', [{ key: 'one', policy: short, cost: 5 }]).figures[0];
      const taken = store.perform('take', [{ key: 'one', policy: short, cost: 5 }]).figures[0];

      expect(taken).toEqual(peeked);
      expect(taken?.[RETRY_AFTER]).toBeLessThanOrEqual(120_000);
    }
  });
});
