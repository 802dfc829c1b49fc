import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket, type TokenBucketPolicy } from '@sluice/old-core';
import { algorithmOf } from '@sluice/old-core/spi';
import { cases, fakeClock, startRedis, virtualRedisStore, type RedisServer } from '@sluice/testkit';
import { START_MS } from '../traces/step.ts';

const UNITS = cases(200_000);

/** The rates that floating point, and whole milliseconds per unit, get wrong. */
const RATES = [
  tokenBucket({ capacity: 1_000, refill: 700_000, every: '1s' }),
  tokenBucket({ capacity: 10, refill: 3, every: '7s' }),
  tokenBucket({ capacity: 1, refill: 1, every: '1d' }),
  tokenBucket({ capacity: 5, refill: 100_000, every: '30d' }),
  tokenBucket({ capacity: 100, refill: 99_991, every: '30d' }),
];

/** The units that a bucket, never full again, allows in this time if none is lost or counted twice. */
const exactly = ({ capacity, refill, everyMs }: TokenBucketPolicy, elapsedMs: number): number =>
  capacity + Number((BigInt(refill) * BigInt(elapsedMs)) / BigInt(everyMs));

describe.each(RATES)('a bucket of $refill per $everyMs ms', (policy) => {
  const { kernel } = algorithmOf(policy);

  it('has allowed exactly its share after hundreds of thousands of units, each as early as it can be', () => {
    let state: unknown;
    let atMs = START_MS;
    let denials = 0;
    let allowedUnits = 0;
    const misses: unknown[] = [];
    while (allowedUnits < UNITS) {
      const { state: after, verdict } = kernel(policy, state, 1, atMs);
      state = after;
      if (verdict.allowed) {
        allowedUnits++;
        continue;
      }
      // Nothing is left: all refilled units have been allowed.
      if (denials++ % 997 === 0 && allowedUnits !== exactly(policy, atMs - START_MS))
        misses.push({ allowedUnits, atMs });
      atMs += verdict.retryAfterMs ?? 0;
    }

    const { remaining } = kernel(policy, state, 0, atMs).verdict;
    expect(allowedUnits + remaining).toBe(exactly(policy, atMs - START_MS));
    expect(misses).toEqual([]);
  });

  it('has allowed exactly its share after requests at any time, for any number of units', () => {
    let state: unknown;
    let atMs = START_MS;
    let allowedUnits = 0;
    const misses: unknown[] = [];
    for (let step = 0; step < cases(20_000); step++) {
      const { remaining } = kernel(policy, state, 0, atMs).verdict;
      if (step > 0 && allowedUnits + remaining !== exactly(policy, atMs - START_MS))
        misses.push({ step, allowedUnits, remaining, atMs });
      const { state: after, verdict } = kernel(policy, state, remaining, atMs);
      state = after;
      allowedUnits += remaining;
      // Before the bucket is full, never at the same fraction of a unit.
      atMs += 1 + ((step * 7_919) % Math.max(verdict.resetAfterMs - 1, 1));
    }

    expect(misses).toEqual([]);
  });
});

describe.each(RATES)('the Lua twin of a bucket of $refill per $everyMs ms', (policy) => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.storeUrl);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('has allowed exactly its share after hundreds of denials', async () => {
    const clock = fakeClock(START_MS);
    const limiter = createLimiter({
      policy,
      store: virtualRedisStore(redis, clock, { prefix: 'sluice' }, 0),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    let allowedUnits = 0;
    const misses: unknown[] = [];
    for (let denials = 0; denials < cases(200); denials++) {
      const { remaining } = await limiter.peek('key', 0);
      await limiter.consume('key', remaining);
      allowedUnits += remaining;
      const { allowed, retryAfterMs } = await limiter.consume('key');

      if (allowed || allowedUnits !== exactly(policy, clock.atMs - START_MS))
        misses.push({ allowedUnits, atMs: clock.atMs });
      clock.advance(retryAfterMs ?? 0);
    }

    expect(misses).toEqual([]);
  });
});
