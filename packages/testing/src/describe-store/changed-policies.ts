import assert from 'node:assert/strict';
import {
  createLimiter,
  createPolicies,
  fixedWindow,
  managed,
  slidingWindow,
  type Policies,
  type PolicySource,
} from '@sluice/core';
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
      const policies = policiesInMemory();
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
  });
}

function policiesInMemory(): Policies {
  let records: Readonly<Record<string, unknown>> = {};
  const source: PolicySource = {
    load: () => Promise.resolve(records),
    put: (name, record, before) => {
      if (records[name] !== before) return Promise.resolve(false);
      records = { ...records, [name]: record };
      return Promise.resolve(true);
    },
  };
  return createPolicies(source);
}
