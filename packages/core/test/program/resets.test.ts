import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Policy } from '../../src/policies/index.ts';
import { leakyBucket } from '../../src/policies/leaky-bucket.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { RESET_AFTER, USED } from '../../src/program/decide.ts';
import { clockedRedis, key, ProgramStore, type Clocked } from './stores.ts';

const redis = useRedis();
let keys = 0;

const BACKENDS: readonly (readonly [name: string, open: () => Clocked])[] = [
  ['in memory', () => new ProgramStore()],
  ['in Redis', () => clockedRedis(redis.client)],
];
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

describe.each(BACKENDS)('%s, after a reset', (_, open) => {
  describe.each(POLICIES)('%s', (_name, policy) => {
    /** A key on which five units were taken, then a reset, then three. */
    async function takeTwice(
      betweenMs: number,
    ): Promise<{ store: Clocked; first: object; second: object; one: string }> {
      const store = open();
      const one = key(`reset-${String(++keys)}`);
      const take = async (cost: number): Promise<object> => {
        const { atMs, figures } = await store.perform('take', [{ key: one, policy, cost }]);
        return { key: one, policy, cost, until: atMs + (figures[0]?.[RESET_AFTER] ?? 0), holder: atMs };
      };
      const first = await take(5);
      store.clock.advance(betweenMs);
      await store.perform('reset', [{ key: one, policy, cost: 1 }]);
      store.clock.advance(betweenMs);
      return { store, first, second: await take(3), one };
    }
    const used = async (store: Clocked, one: string): Promise<number | undefined> =>
      (await store.perform('peek', [{ key: one, policy, cost: 0 }])).figures[0]?.[USED];

    it.each([0, 10])('neither gives back nor charges what was taken before it: %i ms apart', async (betweenMs) => {
      for (const op of ['give', 'charge'] as const) {
        const { store, first, one } = await takeTwice(betweenMs);
        await store.perform(op, [first as never]);

        expect(await used(store, one)).toBe(3);
      }
    });

    it('gives back what was taken later', async () => {
      const { store, second, one } = await takeTwice(10);
      await store.perform('give', [second as never]);

      expect(await used(store, one)).toBe(0);
    });
  });
});
