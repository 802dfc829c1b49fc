import assert from 'node:assert/strict';
import { slidingWindow, tokenBucket } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** Refunds of decisions, and reservations. */
export function describeSettling({ describe, it }: Suite, { limiter: setup }: StoreSetup): void {
  describe('refund', () => {
    it('returns units once', async () => {
      const { limiter } = setup(perMinute(5));
      const decision = await limiter.consume('key', 3);

      await limiter.refund(decision, 2);
      await limiter.refund(decision, 1);

      assert.equal((await limiter.peek('key')).remaining, 4);
    });

    it('returns nothing to a later window', async () => {
      const { limiter, clock } = setup(perMinute(5));
      const decision = await limiter.consume('key', 3);
      clock.advance(60_000);
      await limiter.consume('key', 5);

      await limiter.refund(decision);

      assert.equal((await limiter.peek('key')).remaining, 0);
    });
  });

  describe('reserve', () => {
    it('refunds the unused part of the estimate, once', async () => {
      const { limiter } = setup(perMinute(10));
      const { decision, settle, cancel } = await limiter.reserve('key', 8);
      matches(decision, { allowed: true, cost: 8, remaining: 2 });

      await settle(3);
      await settle(8);
      await cancel();

      assert.equal((await limiter.peek('key')).remaining, 7);
    });

    it('charges the units beyond the estimate, also beyond the limit', async () => {
      const { limiter, clock } = setup(perMinute(10));
      const { settle } = await limiter.reserve('key', 2);
      const other = await limiter.reserve('key', 1);

      await settle(14);

      matches(await limiter.consume('key'), { allowed: false, remaining: 0, retryAfterMs: 60_000 });
      await other.cancel();
      assert.equal((await limiter.peek('key')).remaining, 0);
      clock.advance(60_000);
      assert.equal((await limiter.consume('key')).remaining, 9);
    });

    it('makes a bucket negative, which denies until it is refilled', async () => {
      const { limiter, clock } = setup(tokenBucket({ capacity: 10, refill: 1, every: '1s' }));
      const { settle } = await limiter.reserve('key', 4);
      clock.advance(60_000);

      await settle(4 + 25);

      matches(await limiter.consume('key'), { allowed: false, remaining: 0, retryAfterMs: 16_000 });
      clock.advance(15_999);
      assert.equal((await limiter.consume('key')).allowed, false);
      clock.advance(1);
      assert.equal((await limiter.consume('key')).allowed, true);
    });

    it('settles every policy of a key', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 8, refill: 1, every: '1m' }),
      ]);
      const { settle } = await limiter.reserve('key', 2);

      await settle(7);

      const { policies } = await limiter.peek('key', 0);
      assert.deepEqual(
        policies.map(({ remaining }) => remaining),
        [3, 1],
      );
    });

    it('charges nothing to a later window', async () => {
      const { limiter, clock } = setup(perMinute(10));
      const { settle } = await limiter.reserve('key', 2);
      clock.advance(60_000);
      await limiter.consume('key', 1);

      await settle(9);

      assert.equal((await limiter.peek('key')).remaining, 9);
    });
  });
}
