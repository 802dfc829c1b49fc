import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { fakeClock } from '@sluice/testkit';
import { registry } from './lagging-views.ts';

describe('a managed policy that changes while its keys are compact', () => {
  it('carries over what each of them has used', async () => {
    const { policies, view } = registry();
    const known = view();
    const put = async (limit: number): Promise<void> => {
      await policies.put('orders', fixedWindow({ limit, window: '1h' }), { apps: ['shop'] });
      await known.hear();
    };
    await put(3);
    const orders = createLimiter({
      policy: managed('orders'),
      app: 'shop',
      policies: known.policies,
      store: memoryStore({ maxKeys: 2, clock: fakeClock() }),
    });
    const keys = Array.from({ length: 10 }, (_, i) => `key-${String(i)}`);
    for (const key of keys) while ((await orders.consume(key)).allowed);

    await put(5);
    const left: number[] = [];
    for (const key of keys) left.push((await orders.consume(key)).remaining);

    expect(left).toEqual(keys.map(() => 1));
  });
});
