import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { isFreedAfter, useRedis } from '@sluice/testkit';

const redis = useRedis();
const made: Limiter[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map(async (limiter) => limiter.close()));
});

const limiterOf = (options: LimiterOptions & { readonly limits?: never }): Limiter => {
  const limiter = createLimiter({ timeoutMs: 10_000, ...options });
  made.push(limiter);
  return limiter;
};

describe('what an application stores for a request is free again when the request has ended', () => {
  it.each<[string, () => () => Promise<unknown>]>([
    [
      'that loaded managed policies first, and watches them',
      () => {
        const options = { prefix: 'sluice:managed' };
        const policies = createPolicies(redis.admin, options);
        const store = redisStore(redis.admin, options);
        const limiter = limiterOf({ app: 'shop', policy: managed('orders'), policies, store, onUnconfigured: 'allow' });
        return async () => limiter.consume('key');
      },
    ],
    [
      'that made a limiter of managed policies, and watches them',
      () => {
        const options = { prefix: 'sluice:made-managed' };
        return async () => {
          const policies = createPolicies(redis.admin, options);
          const store = redisStore(redis.admin, options);
          const limiter = limiterOf({
            app: 'shop',
            policy: managed('orders'),
            policies,
            store,
            onUnconfigured: 'allow',
          });
          return limiter.consume('key');
        };
      },
    ],
  ])('%s', async (_which, ready) => {
    expect(await isFreedAfter(ready())).toBe(true);
  });
});
