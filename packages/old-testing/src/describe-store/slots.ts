import assert from 'node:assert/strict';
import { concurrency, fixedWindow } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import type { StoreSetup } from './setup.ts';

/** Slots that holders take, renew and release. */
export function describeSlots({ describe, it }: Suite, { limiter: setup }: StoreSetup): void {
  const twoAtOnce = concurrency({ limit: 2, ttl: '1m' });

  describe('slots', () => {
    it('are held by at most the limit of many at once', async () => {
      const { limiter } = setup(twoAtOnce);

      const acquired = await Promise.all(Array.from({ length: 20 }, () => limiter.acquire('key')));

      assert.equal(acquired.filter(({ decision }) => decision.allowed).length, 2);
    });

    it('are free once they are released, each once', async () => {
      const { limiter } = setup(twoAtOnce);
      const first = await limiter.acquire('key');
      await limiter.acquire('key');

      await first.release();
      await first.release();

      matches((await limiter.acquire('key')).decision, { allowed: true, remaining: 0 });
      assert.equal((await limiter.acquire('key')).decision.allowed, false);
    });

    it('expire by themselves after their ttl, counted from the last renewal', async () => {
      const { limiter, clock } = setup(concurrency({ limit: 1, ttl: '1m' }));
      const held = await limiter.acquire('key');

      clock.advance(59_999);
      assert.equal(await held.renew(), true);
      clock.advance(59_999);
      matches((await limiter.acquire('key')).decision, { allowed: false, retryAfterMs: 1 });
      clock.advance(1);
      assert.equal((await limiter.acquire('key')).decision.allowed, true);
      assert.equal(await held.renew(), false);
      await held.release();
      assert.equal((await limiter.acquire('key')).decision.allowed, false);
    });

    it('belong to their holder, who gets the same one again', async () => {
      const { limiter } = setup(twoAtOnce);

      for (let i = 0; i < 3; i++) {
        assert.equal((await limiter.acquire('key', { holder: 'job-1' })).decision.used, 1);
      }
      assert.equal((await limiter.acquire('key', { holder: 'job-2' })).decision.used, 2);
    });

    it('are taken together with units of other policies, or not at all', async () => {
      const { limiter } = setup([
        concurrency({ name: 'slots', limit: 5, ttl: '1m' }),
        fixedWindow({ name: 'units', limit: 1, window: '1m' }),
      ]);
      const held = await limiter.acquire('key');

      const { decision } = await limiter.acquire('key');
      assert.deepEqual(
        decision.policies.map(({ allowed, used }) => [allowed, used]),
        [
          [true, 1],
          [false, 1],
        ],
      );
      await held.release();
      assert.deepEqual(
        (await limiter.peek('key', 0)).policies.map(({ used }) => used),
        [0, 1],
      );
    });
  });
}
