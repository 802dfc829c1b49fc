import assert from 'node:assert/strict';
import {
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

const MINUTE = 60_000;

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
export function describeUnitsOfKeys({ describe, it }: Suite, { limiter: setup, sharing }: StoreSetup): void {
  describe('refund of a key', () => {
    for (const [name, policy] of kinds) {
      it(`gives back as many units as are used, each call again, by ${name}`, async () => {
        const { limiter } = setup(policy);
        await limiter.consume('key', 6);
        await limiter.consume('other', 6);

        await limiter.refund('key');
        assert.equal(await usedOf(limiter), 5);
        await limiter.refund('key', 3);
        assert.equal(await usedOf(limiter), 2);
        await limiter.refund('key', 3);
        matches(await limiter.peek('key', 10), { allowed: true, used: 0 });
        await limiter.refund('unused');
        assert.equal((await limiter.peek('other', 0)).used, 6);
      });
    }

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

        assert.equal(await usedOf(limiter), 5);
        clock.advance(MINUTE - 40_000 + 1_000);
        assert.equal(await usedOf(limiter), 1);
        clock.advance(20_000);
        assert.equal(await usedOf(limiter), 0);
      }
    });

    it('takes the newer window of a sliding counter first', async () => {
      const { limiter, clock } = setup(slidingCounter({ limit: 10, window: '1m' }));
      clock.atMs = Math.ceil(clock.atMs / MINUTE) * MINUTE;
      await limiter.consume('key', 4);
      clock.advance(MINUTE);
      await limiter.consume('key', 3);

      await limiter.refund('key', 3);

      assert.equal(await usedOf(limiter), 4);
      clock.advance(MINUTE / 2);
      assert.equal(await usedOf(limiter), 2);
    });

    it('leaves the end of a window, a block, and the next request as they were', async () => {
      const { limiter, clock } = setup(perMinute(5));
      await limiter.consume('key', 5);
      clock.advance(10_000);
      await limiter.block('key', '5s');

      await limiter.refund('key', 2);

      matches(await limiter.peek('key'), { outcome: 'blocked', retryAfterMs: 5_000 });
      clock.advance(5_000);
      matches(await limiter.consume('key', 2), { allowed: true, used: 5, resetAfterMs: 45_000 });
    });

    it('gives back to every policy of the key', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 8, refill: 1, every: '1m' }),
      ]);
      await limiter.consume('key', 5);

      await limiter.refund('key', 2);

      assert.deepEqual(
        (await limiter.peek('key', 0)).policies.map(({ used }) => used),
        [3, 3],
      );
    });
  });

  describe('charge', () => {
    for (const [name, policy] of kinds) {
      it(`counts what has happened, also beyond the limit, by ${name}`, async () => {
        const { limiter } = setup(policy);

        await limiter.charge('key', 4);
        matches(await limiter.peek('key'), { allowed: true, used: 4, remaining: 6 });
        await limiter.charge('key', 21);
        matches(await limiter.peek('key'), { allowed: false, used: 25, remaining: 0 });
        await limiter.charge('key', 0);
        assert.equal((await limiter.consume('other')).used, 1);
      });
    }

    it('opens a window that ends when it would have ended after a request', async () => {
      const { limiter, clock } = setup(perMinute(5));

      await limiter.charge('key', 5);
      clock.advance(10_000);
      await limiter.charge('key', 5);

      matches(await limiter.consume('key'), { allowed: false, retryAfterMs: 50_000, used: 10 });
      clock.advance(50_000);
      matches(await limiter.consume('key'), { allowed: true, used: 1 });
    });

    it('takes a bucket below zero, which denies until that is paid', async () => {
      const { limiter, clock } = setup(tokenBucket({ capacity: 10, refill: 1, every: '1s' }));

      await limiter.charge('key', 25);

      matches(await limiter.consume('key'), { allowed: false, retryAfterMs: 16_000, used: 25 });
      clock.advance(16_000);
      assert.equal((await limiter.consume('key')).allowed, true);
    });

    it('counts while the key is blocked, and leaves the block', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.block('key', '1h');

      await limiter.charge('key', 3);

      matches(await limiter.peek('key'), { outcome: 'blocked', used: 3 });
    });

    it('loses none of many that come at once', async () => {
      const { limiter } = setup(perMinute(5));

      await Promise.all(Array.from({ length: 50 }, () => limiter.charge('key', 2)));

      assert.equal(await usedOf(limiter), 100);
    });
  });

  describe('a block with reset', () => {
    it('forgets what was used in the same step', async () => {
      const { limiter, clock } = setup(perMinute(5));
      await limiter.consume('key', 5);

      await limiter.block('key', '10s', { reset: true });

      matches(await limiter.consume('key'), { outcome: 'blocked', retryAfterMs: 10_000, used: 0 });
      clock.advance(10_000);
      matches(await limiter.consume('key'), { allowed: true, remaining: 4, used: 1 });
    });

    for (const options of [undefined, { reset: false }]) {
      it(`keeps it with ${JSON.stringify(options)}`, async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.consume('key', 3);

        await limiter.block('key', '10s', options);

        assert.equal(await usedOf(limiter), 3);
      });
    }
  });

  describe('limiters that say shared and have one name and policies of one kind', () => {
    it('count together, whatever their numbers: a plan is a limiter', async () => {
      const { limiters } = sharing(perMinute(5), perMinute(20), perMinute(0));
      const [free, paid, none] = limiters as [Limiter, Limiter, Limiter];

      await free.consume('key', 4);
      matches(await paid.consume('key', 8), { allowed: true, limit: 20, used: 12 });
      matches(await free.consume('key'), { allowed: false, limit: 5, used: 12, remaining: 0 });
      matches(await none.consume('key'), { allowed: false, limit: 0, used: 12, retryAfterMs: null });
      await free.refund('key', 10);
      matches(await paid.peek('key'), { used: 2, remaining: 18 });
    });

    it('together allow no more than the largest of them at once', async () => {
      const { limiters } = sharing(perMinute(5), perMinute(20));

      const decisions = await Promise.all(
        Array.from({ length: 60 }, (_, i) => (limiters[i % 2] as Limiter).consume('key')),
      );

      assert.equal(decisions.filter(({ allowed }) => allowed).length, 20);
      assert.equal((await (limiters[1] as Limiter).peek('key', 0)).used, 20);
    });

    for (const [name, small, large] of [
      ['sliding windows', slidingWindow({ limit: 9, window: '1m' }), slidingWindow({ limit: 30, window: '2m' })],
      [
        'buckets',
        tokenBucket({ capacity: 9, refill: 1, every: '1m' }),
        tokenBucket({ capacity: 30, refill: 1, every: '1m' }),
      ],
      ['logs', slidingLog({ limit: 9, window: '1m' }), slidingLog({ limit: 30, window: '1m' })],
    ] as const) {
      it(`go on from each other: ${name}`, async () => {
        const { limiters } = sharing(small, large);

        await (limiters[1] as Limiter).consume('key', 12);

        matches(await (limiters[0] as Limiter).consume('key'), { allowed: false, used: 12 });
      });
    }
  });
}
