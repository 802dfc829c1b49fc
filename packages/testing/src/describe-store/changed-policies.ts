import assert from 'node:assert/strict';
import { createLimiter, createPolicies, fixedWindow, managed, slidingWindow, type PolicySource } from '@sluice/core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
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

  describe('a managed policy', () => {
    it('carries what was used over into its next version, or drops it', async () => {
      const policies = createPolicies(sourceInMemory());
      const put = async (policy: ReturnType<typeof perMinute>, carryOver: 'keep' | 'proportional' | 'reset') => {
        await policies.put('orders', policy, { apps: ['shop'], carryOver });
        await policies.list();
      };
      await put(fixedWindow({ limit: 10, window: '1m' }), 'keep');
      const limiter = createLimiter({ ...open(), policy: managed('orders'), app: 'shop', policies });
      await limiter.consume('key', 4);

      await put(slidingWindow({ limit: 20, window: '1m' }), 'keep');
      assert.equal((await limiter.consume('key')).used, 5);
      await put(slidingWindow({ limit: 40, window: '1m' }), 'proportional');
      assert.equal((await limiter.consume('key')).used, 11);
      await put(slidingWindow({ limit: 40, window: '2m' }), 'reset');
      assert.equal((await limiter.consume('key')).used, 1);
      await limiter.close();
    });

    it('is loaded again by a process whose version is older than that of a state', async () => {
      const source = sourceInMemory();
      const { name, ...opened } = open();
      const common = { ...opened, name, shared: true, policy: managed(name), app: 'shop' }; // the key names the policy alone
      const [early, late] = [createPolicies(source), createPolicies(source)];
      await early.put(name, perMinute(10), { apps: ['shop'] });
      const behind = createLimiter({ ...common, policies: early });
      await behind.consume('key', 4);
      await late.put(name, perMinute(20), { apps: ['shop'] });
      const ahead = createLimiter({ ...common, policies: late });
      matches(await ahead.consume('key', 2), { limit: 20, used: 6 });

      matches(await behind.consume('key'), { allowed: true, limit: 20, used: 7 });
      await Promise.all([behind.close(), ahead.close()]);
    });
  });
}

function sourceInMemory(): PolicySource {
  let records: Readonly<Record<string, unknown>> = {};
  return {
    load: () => Promise.resolve(records),
    put: (name, record, before) => {
      if (records[name] !== before) return Promise.resolve(false);
      records = { ...records, [name]: record };
      return Promise.resolve(true);
    },
  };
}
