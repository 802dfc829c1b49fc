import assert from 'node:assert/strict';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** `reset`, `block` and `unblock`. */
export function describeBlocking({ describe, it }: Suite, { limiter: setup }: StoreSetup): void {
  describe('reset', () => {
    it('makes the key as if never used', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.consume('key', 5);

      await limiter.reset('key');

      matches(await limiter.peek('key'), { allowed: true, remaining: 5, resetAfterMs: 0 });
    });
  });

  describe('block', () => {
    it('denies every cost, 0 too, until the millisecond of its end', async () => {
      const { limiter, clock } = setup(perMinute(5));

      await limiter.block('key', '10s');

      const blocked = {
        allowed: false,
        outcome: 'blocked',
        remaining: 0,
        retryAfterMs: 10_000,
        resetAfterMs: 10_000,
      };
      matches(await limiter.consume('key'), blocked);
      matches(await limiter.consume('key', 0), blocked);
      matches(await limiter.peek('key'), blocked);
      clock.advance(9_999);
      assert.equal((await limiter.consume('key')).allowed, false);
      clock.advance(1);
      matches(await limiter.consume('key'), { allowed: true, remaining: 4 });
    });

    it('consumes nothing, and keeps used units', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.consume('key', 2);

      await limiter.block('key', '10s');
      await limiter.consume('key', 2);
      await limiter.unblock('key');

      assert.equal((await limiter.peek('key')).remaining, 3);
    });

    it('is not ended by a reset but by unblock, and is replaced by a later block', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.block('key', '1h');

      await limiter.reset('key');
      assert.equal((await limiter.peek('key')).outcome, 'blocked');
      await limiter.block('key', '5s');
      assert.equal((await limiter.peek('key')).retryAfterMs, 5_000);
      await limiter.unblock('key');
      assert.equal((await limiter.peek('key')).outcome, 'allowed');
    });

    it('of one key does not affect other keys', async () => {
      const { limiter } = setup(perMinute(5));

      await limiter.block('key', '1h');

      assert.equal((await limiter.consume('other')).allowed, true);
    });
  });
}
