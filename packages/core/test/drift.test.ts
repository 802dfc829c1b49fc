import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket, type TokenBucketPolicy } from '@sluice/core';
import { algorithmOf } from '@sluice/core/internal';
import { fakeClock, startRedis, virtualRedisStore, type RedisServer } from '@sluice/testkit';
import { START_MS } from './traces/step.ts';

/** The rates that floating point, and whole milliseconds per unit, get wrong. */
const RATES = [
  tokenBucket({ capacity: 1_000, refill: 700_000, every: '1s' }),
  tokenBucket({ capacity: 10, refill: 3, every: '7s' }),
  tokenBucket({ capacity: 1, refill: 1, every: '1d' }),
  tokenBucket({ capacity: 5, refill: 100_000, every: '30d' }),
  tokenBucket({ capacity: 100, refill: 99_991, every: '30d' }),
];

/** How many units a bucket that was never full again has admitted after so long, if none is lost or given twice. */
const exactly = ({ capacity, refill, everyMs }: TokenBucketPolicy, elapsedMs: number): number =>
  capacity + Number((BigInt(refill) * BigInt(elapsedMs)) / BigInt(everyMs));

describe.each(RATES)('a bucket of $refill per $everyMs ms', (policy) => {
  const { kernel } = algorithmOf(policy);

  it('has admitted exactly its share after a million units, each as early as it can be', () => {
    let state: unknown;
    let atMs = START_MS;
    let refusals = 0;
    let admitted = 0;
    const misses: unknown[] = [];
    while (admitted < 1_000_000) {
      const { state: after, verdict } = kernel(policy, state, 1, atMs);
      state = after;
      if (verdict.allowed) {
        admitted++;
        continue;
      }
      // Nothing is left: all that has come back so far has been admitted.
      if (refusals++ % 997 === 0 && admitted !== exactly(policy, atMs - START_MS)) misses.push({ admitted, atMs });
      atMs += verdict.retryAfterMs ?? 0;
    }

    const { remaining } = kernel(policy, state, 0, atMs).verdict;
    expect(admitted + remaining).toBe(exactly(policy, atMs - START_MS));
    expect(misses).toEqual([]);
  });

  it('has admitted exactly its share when it is asked at any time, for any number of units', () => {
    let state: unknown;
    let atMs = START_MS;
    let admitted = 0;
    const misses: unknown[] = [];
    for (let step = 0; step < 50_000; step++) {
      const { remaining } = kernel(policy, state, 0, atMs).verdict;
      if (step > 0 && admitted + remaining !== exactly(policy, atMs - START_MS))
        misses.push({ step, admitted, remaining, atMs });
      const { state: after, verdict } = kernel(policy, state, remaining, atMs);
      state = after;
      admitted += remaining;
      // Sooner than the bucket is full, never at the same place within a unit.
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

  it('has admitted exactly its share after five hundred refusals', async () => {
    const clock = fakeClock(START_MS);
    const limiter = createLimiter({
      policy,
      store: virtualRedisStore(redis, clock, {}, 0),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    let admitted = 0;
    const misses: unknown[] = [];
    for (let refusals = 0; refusals < 500; refusals++) {
      const { remaining } = await limiter.peek('key', 0);
      await limiter.consume('key', remaining);
      admitted += remaining;
      const { allowed, retryAfterMs } = await limiter.consume('key');

      if (allowed || admitted !== exactly(policy, clock.atMs - START_MS)) misses.push({ admitted, atMs: clock.atMs });
      clock.advance(retryAfterMs ?? 0);
    }

    expect(misses).toEqual([]);
  });
});
