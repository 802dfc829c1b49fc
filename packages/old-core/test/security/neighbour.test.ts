import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { cases, testSeed, useRedis } from '@sluice/testkit';

const redis = useRedis();
const policies: readonly Policy[] = [
  fixedWindow({ limit: 5, window: '1h' }),
  slidingWindow({ limit: 5, window: '1h' }),
  tokenBucket({ capacity: 5, refill: 1, every: '1h' }),
  tokenBucket({ capacity: 5, refill: 1, every: '1h', mode: 'interval' }),
];
const limiterOf = (policy: Policy): Limiter =>
  createLimiter({
    policy,
    store: redisStore(redis.client, { prefix: 'sluice' }),
    shared: true,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

/** The only key that a limiter has written. */
async function keyOf(limiter: Limiter): Promise<string> {
  await redis.admin.flushall();
  await limiter.consume('victim');
  const [key = ''] = await redis.admin.keys('sluice:{victim}*');
  return key;
}

const planted: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.stringMatching(/^[0-9:! -]{0,40}$/),
  fc.stringMatching(/^!?[0-9]{1,30}!?[0-9]{0,20}:[0-9]{0,20}$/),
  fc.constantFrom(
    'nan',
    'inf',
    '1e308',
    '-1',
    '0x10',
    '!!',
    '!9007199254740993!',
    '9'.repeat(400),
    'x'.repeat(100_000),
  ),
);

describe.each(policies.map((policy) => [policy.algorithm, policy] as const))(
  'any value that a neighbour writes under a key of %s',
  (_name, policy) => {
    it('causes an error of that key alone or a valid decision, never more than the limit, and does not affect other keys', async () => {
      const limiter = limiterOf(policy);
      const key = await keyOf(limiter);

      await fc.assert(
        fc.asyncProperty(planted, async (value) => {
          await redis.admin.set(key, value);

          let allowedCount = 0;
          for (let i = 0; i < 7; i++) {
            const decision = await limiter.consume('victim').catch((error: unknown) => error);
            if (decision instanceof Error) {
              expect(decision).toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN', kind: 'key' });
              continue;
            }
            const { allowed, remaining, limit } = decision as Awaited<ReturnType<Limiter['consume']>>;
            if (allowed) allowedCount++;
            expect(remaining).toBeGreaterThanOrEqual(0);
            expect(remaining).toBeLessThanOrEqual(limit);
          }

          expect(allowedCount).toBeLessThanOrEqual(5);
          expect((await limiter.peek('bystander')).remaining).toBe(5);
        }),
        { numRuns: cases(60), seed: testSeed(42) },
      );
      expect(limiter.status().breaker).toBe('closed');
    });
  },
);

describe('a key of another type', () => {
  it.each([
    ['list', async (key: string) => redis.admin.lpush(key, 'x')],
    ['hash', async (key: string) => redis.admin.hset(key, 'a', '1')],
    ['set', async (key: string) => redis.admin.sadd(key, 'a')],
    ['stream', async (key: string) => redis.admin.xadd(key, '*', 'a', '1')],
  ])('%s: fails its own requests only, does not open the breaker, and is not overwritten', async (type, plant) => {
    const limiter = limiterOf(fixedWindow({ limit: 5, window: '1h' }));
    const key = await keyOf(limiter);
    await redis.admin.del(key);
    await plant(key);

    for (let i = 0; i < 20; i++) {
      await expect(limiter.consume('victim')).rejects.toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN' });
    }

    expect(await redis.admin.type(key)).toBe(type);
    expect(limiter.status().breaker).toBe('closed');
    expect((await limiter.consume('bystander')).source).toBe('redis');
  });
});
