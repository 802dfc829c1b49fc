import { expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, type Limiter } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { registry } from './lagging-views.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m' });
const KEYS = ['ann', 'bob', '#marked', 'long'.repeat(100)];

async function useUp(limiter: Limiter): Promise<void> {
  for (const key of KEYS) expect((await limiter.consume(key, 2)).allowed).toBe(true);
  for (const key of KEYS) expect((await limiter.consume(key)).allowed).toBe(false);
}

it('resetAll resets a managed policy for all its limiters, and no policy of that name of another limiter', async () => {
  const { policies, view } = registry();
  const known = view();
  await policies.put('orders', fixedWindow({ limit: 2, window: '1m' }), { apps: ['shop'] });
  await known.hear();
  const store = memoryStore();
  const common = { store, app: 'shop', policies: known.policies } as const;
  const one = createLimiter({ ...common, name: 'one', policy: managed('orders') });
  const two = createLimiter({ ...common, name: 'two', policy: managed('orders') });
  const named = createLimiter({ store, name: 'orders', policy: perMinute(2) });
  await useUp(one);
  await useUp(named);

  await named.resetAll();
  expect((await two.peek('ann')).allowed).toBe(false);
  await useUp(named);
  await two.resetAll();

  await useUp(one);
  expect((await named.peek('ann')).allowed).toBe(false);
});
