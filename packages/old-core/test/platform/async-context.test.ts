import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '@sluice/old-core';
import { isFreedAfter, useRedis } from '@sluice/testkit';
import { localTime } from '../../src/platform/clock.ts';

const once = fixedWindow({ limit: 1, window: '1h' });
const failing: Store = { source: 'redis', perform: async () => Promise.reject(new Error('connection lost')) };

describe('what an application stores for a request is free again when the request has ended', () => {
  const redis = useRedis();
  const made: Limiter[] = [];
  const limiterOf = (options: LimiterOptions & { readonly limits?: never }): Limiter => {
    const limiter = createLimiter({ timeoutMs: 10_000, ...options });
    made.push(limiter);
    return limiter;
  };

  it('unless a timer was made in it: so this test would see one', async () => {
    let timer: NodeJS.Timeout | undefined;
    const act = async (): Promise<void> => {
      timer = setTimeout(() => undefined, 3_600_000);
      return Promise.resolve();
    };

    expect(await isFreedAfter(act, 5)).toBe(false);
    clearTimeout(timer);
  });

  it.each<[string, () => () => Promise<unknown>]>([
    [
      'whose decision was made in memory',
      () => {
        const limiter = limiterOf({ policy: once });
        return async () => limiter.consume('key');
      },
    ],
    [
      'that opened the connection to Redis',
      () => {
        const limiter = limiterOf({
          policy: once,
          store: redisStore(redis.server.storeUrl, { prefix: 'sluice:open' }),
        });
        return async () => limiter.consume('key');
      },
    ],
    [
      'that was denied and is remembered as denied',
      () => {
        const store = redisStore(redis.client, { prefix: 'sluice:denied' });
        const limiter = limiterOf({ policy: once, store, denialCache: true });
        return async () => Promise.all([limiter.consume('key'), limiter.consume('key'), limiter.consume('key')]);
      },
    ],
    [
      'that opened the circuit breaker',
      () => {
        const limiter = limiterOf({ policy: once, store: failing, onStoreError: 'allow' });
        return async () => Promise.all(Array.from({ length: 10 }, async () => limiter.consume('key')));
      },
    ],
    [
      'that acquired a slot and never released it',
      () => {
        const limiter = limiterOf({ policy: concurrency({ limit: 5, ttl: '1h' }), store: memoryStore() });
        return async () => limiter.acquire('key').then(() => undefined);
      },
    ],
    [
      'that waited until another was allowed, and gave up',
      () => {
        const limiter = limiterOf({ policy: once });
        return async () => {
          await limiter.consume('key');
          const signal = AbortSignal.timeout(10);
          return limiter.wait('key', { signal });
        };
      },
    ],
    [
      'that made a limiter, and opened its connection',
      () => async () => {
        const store = redisStore(redis.server.storeUrl, { prefix: 'sluice:made' });
        return limiterOf({ policy: once, store }).consume('key');
      },
    ],
    [
      'that was paced',
      () => {
        const limiter = limiterOf({ policy: leakyBucket({ limit: 1, window: '1h', maxDelay: '2h' }) });
        return async () => limiter.consume('key');
      },
    ],
  ])('%s', async (_which, ready) => {
    expect(await isFreedAfter(ready())).toBe(true);
    await Promise.all(made.splice(0).map(async (limiter) => limiter.close()));
  });
});

describe('a timer of the clocks of this process', () => {
  const requests = new AsyncLocalStorage<object>();

  it('calls back outside of the request that made it', async () => {
    const seen = await new Promise((resolve) => {
      requests.run({}, () =>
        localTime.after(1, () => {
          resolve(requests.getStore());
        }),
      );
    });

    expect(seen).toBeUndefined();
  });
});
