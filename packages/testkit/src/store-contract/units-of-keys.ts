import { describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/core';
import type { StoreSetup } from './setup.ts';

const MINUTE = 60_000;
const perMinute = (limit: number): Policy => fixedWindow({ limit, window: '1m' });

const kinds: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', perMinute(10)],
  ['slidingWindow', slidingWindow({ limit: 10, window: '1m' })],
  ['slidingCounter', slidingCounter({ limit: 10, window: '1m' })],
  ['slidingLog', slidingLog({ limit: 10, window: '1m' })],
  ['tokenBucket', tokenBucket({ capacity: 10, refill: 1, every: '1m' })],
  ['tokenBucket by intervals', tokenBucket({ capacity: 10, refill: 1, every: '1m', mode: 'interval' })],
  ['leakyBucket', leakyBucket({ limit: 1, window: '1m', maxDelay: '9m' })],
];

const usedOf = async (limiter: Limiter): Promise<number> => (await limiter.peek('key', 0)).used;

/** Refunds, charges and blocks of keys, and limiters that share a name. */
export function describeUnitsOfKeys({ limiter: setup, sharing }: StoreSetup): void {
  describe('refund of a key', () => {
    it.each(kinds)('gives back as many units as are used, each call again, by %s', async (_name, policy) => {
      const { limiter } = setup(policy);
      await limiter.consume('key', 6);
      await limiter.consume('other', 6);

      await limiter.refund('key');
      expect(await usedOf(limiter)).toBe(5);
      await limiter.refund('key', 3);
      expect(await usedOf(limiter)).toBe(2);
      await limiter.refund('key', 3);
      expect(await limiter.peek('key', 10)).toMatchObject({ allowed: true, used: 0 });
      await limiter.refund('unused');
      expect((await limiter.peek('other', 0)).used).toBe(6);
    });

    it('takes the newest units of a sliding window and of a log: what is left comes back first', async () => {
      for (const policy of [
        slidingWindow({ limit: 10, window: '1m', precision: '1s' }),
        slidingLog({ limit: 10, window: '1m' }),
      ]) {
        const { limiter, clock } = setup(policy);
        clock.atMs = Math.ceil(clock.atMs / MINUTE) * MINUTE;
        await limiter.consume('key', 4);
        clock.advance(20_000);
        await limiter.consume('key', 3);
        clock.advance(20_000);
        await limiter.consume('key', 2);

        await limiter.refund('key', 4);

        expect(await usedOf(limiter)).toBe(5);
        clock.advance(MINUTE - 40_000 + 1_000);
        expect(await usedOf(limiter)).toBe(1);
        clock.advance(20_000);
        expect(await usedOf(limiter)).toBe(0);
      }
    });

    it('takes the newer window of a sliding counter first', async () => {
      const { limiter, clock } = setup(slidingCounter({ limit: 10, window: '1m' }));
      clock.atMs = Math.ceil(clock.atMs / MINUTE) * MINUTE;
      await limiter.consume('key', 4);
      clock.advance(MINUTE);
      await limiter.consume('key', 3);

      await limiter.refund('key', 3);

      expect(await usedOf(limiter)).toBe(4);
      clock.advance(MINUTE / 2);
      expect(await usedOf(limiter)).toBe(2);
    });

    it('leaves the end of a window, a block, and the next request as they were', async () => {
      const { limiter, clock } = setup(perMinute(5));
      await limiter.consume('key', 5);
      clock.advance(10_000);
      await limiter.block('key', '5s');

      await limiter.refund('key', 2);

      expect(await limiter.peek('key')).toMatchObject({ outcome: 'blocked', retryAfterMs: 5_000 });
      clock.advance(5_000);
      expect(await limiter.consume('key', 2)).toMatchObject({ allowed: true, used: 5, resetAfterMs: 45_000 });
    });

    it('gives back to every policy of the key', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 8, refill: 1, every: '1m' }),
      ]);
      await limiter.consume('key', 5);

      await limiter.refund('key', 2);

      expect((await limiter.peek('key', 0)).policies.map(({ used }) => used)).toEqual([3, 3]);
    });
  });

  describe('charge', () => {
    it.each(kinds)('counts what has happened, also beyond the limit, by %s', async (_name, policy) => {
      const { limiter } = setup(policy);

      await limiter.charge('key', 4);
      expect(await limiter.peek('key')).toMatchObject({ allowed: true, used: 4, remaining: 6 });
      await limiter.charge('key', 21);
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, used: 25, remaining: 0 });
      await limiter.charge('key', 0);
      expect((await limiter.consume('other')).used).toBe(1);
    });

    it('opens a window that ends when it would have ended after a request', async () => {
      const { limiter, clock } = setup(perMinute(5));

      await limiter.charge('key', 5);
      clock.advance(10_000);
      await limiter.charge('key', 5);

      expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 50_000, used: 10 });
      clock.advance(50_000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, used: 1 });
    });

    it('takes a bucket below zero, which denies until that is paid', async () => {
      const { limiter, clock } = setup(tokenBucket({ capacity: 10, refill: 1, every: '1s' }));

      await limiter.charge('key', 25);

      expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 16_000, used: 25 });
      clock.advance(16_000);
      expect((await limiter.consume('key')).allowed).toBe(true);
    });

    it('counts while the key is blocked, and leaves the block', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.block('key', '1h');

      await limiter.charge('key', 3);

      expect(await limiter.peek('key')).toMatchObject({ outcome: 'blocked', used: 3 });
    });

    it('loses none of many that come at once', async () => {
      const { limiter } = setup(perMinute(5));

      await Promise.all(Array.from({ length: 50 }, () => limiter.charge('key', 2)));

      expect(await usedOf(limiter)).toBe(100);
    });
  });

  describe('a block with reset', () => {
    it('forgets what was used in the same step', async () => {
      const { limiter, clock } = setup(perMinute(5));
      await limiter.consume('key', 5);

      await limiter.block('key', '10s', { reset: true });

      expect(await limiter.consume('key')).toMatchObject({ outcome: 'blocked', retryAfterMs: 10_000, used: 0 });
      clock.advance(10_000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 4, used: 1 });
    });

    it.each([undefined, { reset: false }])('keeps it with %j', async (options) => {
      const { limiter } = setup(perMinute(5));
      await limiter.consume('key', 3);

      await limiter.block('key', '10s', options);

      expect(await usedOf(limiter)).toBe(3);
    });
  });

  describe('limiters that say shared and have one name and policies of one kind', () => {
    it('count together, whatever their numbers: a plan is a limiter', async () => {
      const { limiters } = sharing(perMinute(5), perMinute(20), perMinute(0));
      const [free, paid, none] = limiters as [Limiter, Limiter, Limiter];

      await free.consume('key', 4);
      expect(await paid.consume('key', 8)).toMatchObject({ allowed: true, limit: 20, used: 12 });
      expect(await free.consume('key')).toMatchObject({ allowed: false, limit: 5, used: 12, remaining: 0 });
      expect(await none.consume('key')).toMatchObject({ allowed: false, limit: 0, used: 12, retryAfterMs: null });
      await free.refund('key', 10);
      expect(await paid.peek('key')).toMatchObject({ used: 2, remaining: 18 });
    });

    it('together allow no more than the largest of them at once', async () => {
      const { limiters } = sharing(perMinute(5), perMinute(20));

      const decisions = await Promise.all(
        Array.from({ length: 60 }, (_, i) => (limiters[i % 2] as Limiter).consume('key')),
      );

      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20);
      expect((await (limiters[1] as Limiter).peek('key', 0)).used).toBe(20);
    });

    it.each([
      ['sliding windows', slidingWindow({ limit: 9, window: '1m' }), slidingWindow({ limit: 30, window: '2m' })],
      [
        'buckets',
        tokenBucket({ capacity: 9, refill: 1, every: '1m' }),
        tokenBucket({ capacity: 30, refill: 1, every: '1m' }),
      ],
      ['logs', slidingLog({ limit: 9, window: '1m' }), slidingLog({ limit: 30, window: '1m' })],
    ])('go on from each other: %s', async (_name, small, large) => {
      const { limiters } = sharing(small, large);

      await (limiters[1] as Limiter).consume('key', 12);

      expect(await (limiters[0] as Limiter).consume('key')).toMatchObject({ allowed: false, used: 12 });
    });
  });
}
