import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  concurrency,
  createLimiter,
  redisStore,
  StoreError,
  type Limiter,
  type SingleLimiterOptions,
} from '@sluice/old-core';
import { startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';

const redis = useRedis();
let proxy: TcpProxy;
let client: Redis;
beforeEach(async () => {
  await redis.admin.flushall();
  proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
  client = new Redis(proxy.through(redis.server.storeUrl), {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 20,
    disconnectTimeout: 50, // of a connection that is gone already, and would keep the process for two seconds
  });
  client.on('error', () => undefined);
});
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  client.disconnect();
  proxy.close();
});

const KEY = 'sluice:{key}:jobs:2c';
const limiters: Limiter[] = [];
const limiterOf = (options: Partial<SingleLimiterOptions> = {}): Limiter => {
  const limiter = createLimiter({
    name: 'jobs',
    policy: concurrency({ limit: 2, ttl: '1h' }),
    store: redisStore(client, { prefix: 'sluice', breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 10_000,
    ...options,
  } as SingleLimiterOptions);
  limiters.push(limiter);
  return limiter;
};
/** How often a script was called since the statistics were reset. */
const calls = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.admin.info('commandstats'))?.[1] ?? 0);

describe('an answer that is lost on its way', () => {
  it('leaves a slot that its holder has by asking again, and takes no second one', async () => {
    const limiter = limiterOf({ timeoutMs: 3_000 });
    await limiter.peek('key', 0);
    proxy.delay(400);
    const lost = limiter.acquire('key', { holder: 'job-1' });
    const failure = lost.catch((error: unknown) => error);
    await until('the slot is taken', async () => (await redis.admin.exists(KEY)) === 1);
    proxy.cut();
    expect(await failure).toBeInstanceOf(StoreError);
    await proxy.heal();

    const again = await limiter.acquire('key', { holder: 'job-1' });

    expect(again.decision.allowed).toBe(true);
    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    expect(await again.renew()).toBe(true);
  });
});

describe('an acquire that no caller waits for any more', () => {
  it('is followed by its release, once', async () => {
    const limiter = limiterOf({ timeoutMs: 100 });
    await until('the script is known', async () => (await limiter.peek('key', 0)).remaining === 2);
    await redis.admin.config('RESETSTAT');
    proxy.delay(300);

    await expect(limiter.acquire('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_TIMEOUT' });

    await until('the slot was taken, and released', async () => (await calls()) === 2);
    await proxy.heal();
    expect(await redis.admin.keys('*')).toEqual([]);
    await until('the next one is answered', async () => (await limiter.peek('key', 0)).remaining === 2);
    expect(await calls()).toBeGreaterThanOrEqual(3);
    expect(await redis.admin.keys('*')).toEqual([]);
  });
});

describe('while Redis is away', () => {
  it('slots are held by this process, and released there', async () => {
    const limiter = limiterOf({ onStoreError: 'local', timeoutMs: 2_000 });
    proxy.deny();
    proxy.cut();
    await until('it is away', async () => (await limiter.peek('key', 0)).source === 'local');
    const [first, , third] = [await limiter.acquire('key'), await limiter.acquire('key'), await limiter.acquire('key')];
    await first.release();
    const fourth = await limiter.acquire('key');

    expect([first, third, fourth].map(({ decision }) => [decision.source, decision.allowed])).toEqual([
      ['local', true],
      ['local', false],
      ['local', true],
    ]);
  });

  it('what was taken there is released there when it is back, and leaves nothing in Redis', async () => {
    const limiter = limiterOf({ onStoreError: 'local', timeoutMs: 2_000 });
    proxy.deny();
    proxy.cut();
    await until('it is away', async () => (await limiter.peek('key', 0)).source === 'local');
    const held = await limiter.acquire('key');
    await proxy.heal();
    await until('it is back', async () => (await limiter.peek('key', 0)).source === 'redis');

    await held.release();

    expect(held.decision.source).toBe('local');
    expect((await limiter.peek('key', 0)).remaining).toBe(2);
    proxy.deny();
    proxy.cut();
    await until('it is away again', async () => {
      const { source, remaining } = await limiter.peek('key', 0);
      return source === 'local' && remaining === 2;
    });
  });
});
