import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  redisStore,
  type Acquisition,
  type Limiter,
  type LimiterOptions,
} from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const slots = concurrency({ name: 'slots', limit: 2, ttl: '1h' });
const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({
    name: 'jobs',
    shared: true,
    policy: slots,
    store: redisStore(redis.client, { prefix: 'sluice' }),
    onStoreError: 'throw',
    timeoutMs: 60_000,
    ...options,
  } as LimiterOptions) as Limiter;

/** Deletes the value of the key, as an eviction may, and leaves its slots. */
async function evictValue(): Promise<void> {
  const keys = await redis.admin.keys('sluice:{imports}:*');
  const values = [];
  for (const key of keys) if ((await redis.admin.type(key)) === 'string') values.push(key);
  expect(keys).toHaveLength(2);
  expect(values).toHaveLength(1);
  await redis.admin.del(values);
}

const acquire = async (limiter: Limiter): Promise<Acquisition> => limiter.acquire('imports');

describe('slots whose value was evicted', () => {
  it('stay held, are renewed, and are released one by one', async () => {
    const limiter = limiterOf();
    const [first, second] = [await acquire(limiter), await acquire(limiter)];
    await evictValue();

    const third = await acquire(limiter);
    expect(third.decision).toMatchObject({ allowed: false, remaining: 0 });
    expect((await limiter.peek('imports')).remaining).toBe(0);
    expect(await redis.admin.keys('sluice:{imports}:*')).toHaveLength(1); // a denial writes nothing
    expect(await first.renew()).toBe(true);
    await evictValue();
    await first.release();
    expect((await acquire(limiter)).decision.allowed).toBe(true);
    expect((await acquire(limiter)).decision.allowed).toBe(false);
    await second.release();

    expect((await limiter.peek('imports')).remaining).toBe(1);
  });

  it('stay held beside another policy, whose units are lost', async () => {
    const limiter = limiterOf({ policy: [fixedWindow({ name: 'window', limit: 9, window: '1h' }), slots] });
    await acquire(limiter);
    await evictValue();

    const { decision } = await acquire(limiter);

    expect(decision.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['window', 8],
      ['slots', 0],
    ]);
    expect((await acquire(limiter)).decision).toMatchObject({ allowed: false, policy: 'slots' });
  });

  it('are forgotten by a reset', async () => {
    const limiter = limiterOf();
    await acquire(limiter);
    await evictValue();

    await limiter.reset('imports');

    expect((await limiter.peek('imports')).remaining).toBe(2);
    expect(await redis.admin.keys('sluice:{imports}:*')).toEqual([]);
  });
});
