import assert from 'node:assert/strict';
import { createLimiter, fixedWindow, slidingWindow } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { changingPolicy } from './changing-limit.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** States that were written under other numbers, or by another algorithm. */
export function describeChangedPolicies({ describe, it }: Suite, { open }: StoreSetup): void {
  describe('a policy with new numbers', () => {
    it('keeps the units used under the old ones', async () => {
      const common = { ...open(), shared: true };
      await createLimiter({ ...common, policy: perMinute(10) }).consume('key', 4);

      const { remaining } = await createLimiter({ ...common, policy: perMinute(6) }).peek('key');

      assert.equal(remaining, 2);
    });
  });

  describe('a policy that changes', () => {
    it('carries what was used over into its next version, or drops it', async () => {
      const { name, ...opened } = open();
      const orders = changingPolicy(name, fixedWindow({ limit: 10, window: '1m' }));
      const asOneMore = () => createLimiter({ ...opened, name, shared: true, policy: orders.reference() });
      const limiters = [asOneMore()];
      await limiters[0]?.consume('key', 4);

      const used = [];
      for (const [policy, carryOver] of [
        [slidingWindow({ limit: 20, window: '1m' }), 'keep'],
        [slidingWindow({ limit: 40, window: '1m' }), 'keep'],
        [slidingWindow({ limit: 40, window: '2m' }), 'reset'],
      ] as const) {
        orders.change(policy, carryOver);
        const limiter = asOneMore();
        limiters.push(limiter);
        used.push((await limiter.consume('key')).used);
      }

      assert.deepEqual(used, [5, 6, 1]);
      await Promise.all(limiters.map((limiter) => limiter.close()));
    });

    it('is loaded again by a process whose version is older than that of a state', async () => {
      const { name, ...opened } = open();
      const orders = changingPolicy(name, perMinute(10));
      const common = { ...opened, name, shared: true };
      const behind = createLimiter({ ...common, policy: orders.reference() });
      await behind.consume('key', 4);
      orders.change(perMinute(20), 'keep');
      const ahead = createLimiter({ ...common, policy: orders.reference() });
      matches(await ahead.consume('key', 2), { limit: 20, used: 6 });

      matches(await behind.consume('key'), { allowed: true, limit: 20, used: 7 });
      await Promise.all([behind.close(), ahead.close()]);
    });
  });
}
