import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '@sluice/core';
import { createPolicies, managed } from '@sluice/managed';
import { remoteStore } from '@sluice/remote';
import { freePort, useRedis } from '@sluice/testkit';
import { localTime } from '../../src/platform/clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What an application stores for each request: a session, a trace, a transaction. */
const requests = new AsyncLocalStorage<object>();

/** Whether nothing holds what was stored for a request, once `act` has ended: a timer would, for as long as it runs. */
async function isFreedAfter(act: () => Promise<unknown>, tries = 40): Promise<boolean> {
  const stored = await storedDuring(act);
  for (let i = 0; i < tries; i++) {
    await sleep(5);
    collectGarbage();
    if (stored.deref() === undefined) return true;
  }
  return false;
}

async function storedDuring(act: () => Promise<unknown>): Promise<WeakRef<object>> {
  const stored = { session: 'of one request' };
  await requests.run(stored, async () => act().catch(() => undefined));
  return new WeakRef(stored);
}

const once = fixedWindow({ limit: 1, window: '1h' });
const failing: Store = { source: 'redis', perform: async () => Promise.reject(new Error('connection lost')) };

describe('what an application stores for a request is free again when the request has ended', () => {
  const redis = useRedis();
  let closedPort = 0;
  beforeAll(async () => {
    closedPort = await freePort();
  });
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
      'that leased a slice of a limit',
      () => {
        const store = redisStore(redis.client, { prefix: 'sluice:leased' });
        const policy = tokenBucket({ capacity: 1000, refill: 1000, every: '1s' });
        const limiter = limiterOf({ policy, store, lease: true });
        return async () => Promise.all(Array.from({ length: 50 }, async () => limiter.consume('key')));
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
      'that looked for a service that is away',
      () => {
        const store = remoteStore(`sluice://127.0.0.1:${String(closedPort)}`);
        const limiter = limiterOf({ policy: once, store, onStoreError: 'allow', timeoutMs: 50 });
        return async () => limiter.consume('key');
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
