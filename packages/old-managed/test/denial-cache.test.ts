import { expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();

it('a known denial is nothing of a managed policy that this process has changed', async () => {
  const store = redisStore(redis.admin, { prefix: 'sluice' });
  const policies = createPolicies(store);
  const put = (limit: number): Promise<unknown> =>
    policies.put('orders', fixedWindow({ limit, window: '1h' }), { apps: ['shop'] });
  await put(1);
  const limiter = createLimiter({
    ...{ policy: managed('orders'), app: 'shop', store, policies, denialCache: { maxAge: '1h' as const } },
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  await limiter.consume('key');
  await limiter.consume('key');
  const known = await limiter.consume('key');

  await put(5);

  expect([known.source, known.allowed]).toEqual(['cache', false]);
  expect(await limiter.consume('key')).toMatchObject({ source: 'redis', allowed: true });
  await limiter.close();
  await policies.close();
});
