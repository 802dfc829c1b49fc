import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  type Limiter,
  type SingleLimiterOptions,
  type Store,
} from '@sluice/old-core';
import { type BatchStore, type FastHost, NetworkFast } from '@sluice/old-core/spi';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
const KEY = 'sluice:{ann}:default:2f';
const LIMIT = 1_000;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });
const limiters: Limiter[] = [];
beforeEach(async () => {
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await redis.admin.flushall();
  await redis.admin.config('RESETSTAT');
});
afterEach(async () => {
  redis.server.resume();
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

function limiterOf(options: Partial<SingleLimiterOptions> = {}): Limiter {
  const store = redisStore(redis.client, { prefix: 'sluice', breaker: false });
  const limiter = createLimiter({
    policy,
    store,
    onStoreError: 'throw',
    timeoutMs: 100,
    ...options,
  } as SingleLimiterOptions);
  limiters.push(limiter);
  return limiter;
}

const ask = (limiter: Limiter, count: number): Promise<unknown[]> =>
  Promise.all(
    Array.from({ length: count }, () =>
      limiter.consume('ann').then(
        ({ remaining }) => remaining,
        (error: unknown) => (error as { code: string }).code,
      ),
    ),
  );

/** Script calls that the server has carried out. */
const carriedOut = async (): Promise<number> => {
  const stats = await redis.admin.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
};

const used = async (): Promise<number> =>
  LIMIT -
  (await limiterOf({ timeoutMs: 60_000, store: redisStore(redis.client, { prefix: 'sluice' }) }).peek('ann')).remaining;

describe('requests that no caller waits for any more', () => {
  it('are let go of, however long the store keeps their call', async () => {
    const calls: (readonly unknown[])[] = [];
    const store: Store = Object.assign(memoryStore(), {
      source: 'redis' as const,
      breaker: false as const,
      fast(this: BatchStore, host: FastHost) {
        return new NetworkFast(this, host);
      },
      performBatch: (asked: readonly unknown[]) => {
        calls.push(asked);
        return new Promise(() => undefined);
      },
    });
    const limiter = limiterOf({ store });
    const asked = Array.from({ length: 40 }, (_, i) => limiter.consume(`key-${String(i % 20)}`));
    await new Promise(setImmediate);
    expect(calls.flat()).toHaveLength(20);

    await Promise.allSettled(asked);

    expect(calls.flat()).toEqual([]);
  });

  it('are not sent when there was no connection in time, and take nothing', async () => {
    redis.server.pause();
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice', breaker: false, connectTimeoutMs: 50 });
    const limiter = limiterOf({ store });

    expect(new Set(await ask(limiter, 20))).toEqual(new Set(['SLUICE_STORE_FAILED']));
    redis.server.resume();
    await store.ready();

    expect(await redis.admin.exists(KEY)).toBe(0);
    expect((await ask(limiter, 1))[0]).toBe(LIMIT - 1);
  });

  it('are not sent a second time, and what was sent is taken once', async () => {
    const limiter = limiterOf();
    await until('the script is known', async () => (await ask(limiter, 1))[0] === LIMIT - 1);
    await redis.admin.config('RESETSTAT');
    redis.server.pause();

    expect(new Set(await ask(limiter, 20))).toEqual(new Set(['SLUICE_STORE_TIMEOUT']));
    redis.server.resume();

    await until('they were carried out', async () => (await carriedOut()) > 0);
    expect(await used()).toBe(21);
    expect(await carriedOut()).toBe(2); // they, and the look at what is used
  });

  it('are not sent in full where the script was not known, and take nothing', async () => {
    const limiter = limiterOf();
    await redis.admin.script('FLUSH');
    redis.server.pause();

    expect(new Set(await ask(limiter, 20))).toEqual(new Set(['SLUICE_STORE_TIMEOUT']));
    redis.server.resume();

    await until('they were looked at', async () =>
      /cmdstat_evalsha:calls=\d+/.test(await redis.admin.info('commandstats')),
    );
    expect(await used()).toBe(0);
  });
});

describe('requests of limiters that wait less, and more, in one call', () => {
  it('are given up by those who wait less, taken all the same, and answered to the others', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice', breaker: false });
    const hasty = limiterOf({ store, name: 'hasty' });
    const patient = limiterOf({ store, timeoutMs: 60_000 });
    await until('the script is known', async () => (await ask(patient, 1))[0] === LIMIT - 1);
    await redis.admin.config('RESETSTAT');
    redis.server.pause();

    const asked = [ask(patient, 1), ask(hasty, 2), ask(patient, 1), ask(hasty, 1)];
    await Promise.all([asked[1], asked[3]]);
    redis.server.resume();

    expect(await Promise.all(asked)).toEqual([
      [LIMIT - 2],
      ['SLUICE_STORE_TIMEOUT', 'SLUICE_STORE_TIMEOUT'],
      [LIMIT - 3],
      ['SLUICE_STORE_TIMEOUT'],
    ]);
    expect(await carriedOut()).toBe(1);
    expect(await ask(hasty, 1)).toEqual([LIMIT - 4]);
  });
});
