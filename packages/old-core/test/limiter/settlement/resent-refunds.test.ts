import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  redisStore,
  slidingLog,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';

const redis = useRedis();
let proxy: TcpProxy;
const clients: Redis[] = [];
beforeEach(async () => {
  await redis.admin.flushall();
  proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
  proxy.close();
});

/** A client that, by default, sends again what had no reply when its connection broke. */
function clientOf({ sendsAgain }: { readonly sendsAgain: boolean } = { sendsAgain: true }): Redis {
  const client = new Redis(proxy.through(redis.server.storeUrl), {
    autoResendUnfulfilledCommands: sendsAgain,
    retryStrategy: () => 20,
    disconnectTimeout: 50,
  });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

const limiterOf = (client: Redis, policy: Policy | readonly Policy[]): Limiter =>
  createLimiter({
    name: 'jobs',
    shared: true,
    policy,
    store: redisStore(client, { prefix: 'sluice', breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 30_000,
  });

const bucket = tokenBucket({ name: 'bucket', capacity: 10, refill: 1, every: '1d' });

describe('a refund that the client sends again', () => {
  it.each<[string, Policy | readonly Policy[]]>([
    ['a window', fixedWindow({ limit: 10, window: '1h' })],
    ['a bucket', bucket],
    ['a log', slidingLog({ limit: 10, window: '1h' })],
    ['several policies', [bucket, slidingLog({ name: 'log', limit: 10, window: '1h' })]],
  ])('gives back once: %s', async (_what, policy) => {
    const limiter = limiterOf(clientOf(), policy);
    const observer = limiterOf(redis.client, policy);
    const first = await limiter.consume('key', 3);
    await limiter.consume('key', 3);
    await limiter.refund(await limiter.consume('key', 1)); // so that the script is known
    proxy.delay(300);

    const refunded = limiter.refund(first);
    await until('it has happened', async () => (await observer.peek('key', 0)).remaining === 7);
    proxy.cut();
    await proxy.heal();
    await refunded;

    expect((await observer.peek('key', 0)).remaining).toBe(7);
  });

  it('leaves nothing behind that does not expire', async () => {
    const limiter = limiterOf(clientOf(), [bucket, concurrency({ name: 'slots', limit: 5, ttl: '1h' })]);
    const { decision, release } = await limiter.acquire('key');
    await limiter.refund(decision);
    await release();

    const keys = await redis.admin.keys('*');
    const expiries = await Promise.all(keys.map(async (key) => redis.admin.pttl(key)));

    expect(expiries.every((ms) => ms > 0)).toBe(true);
    const ofRefund = keys.filter((key) => key.includes('~'));
    expect(ofRefund).toHaveLength(1);
    expect(await redis.admin.pttl(ofRefund[0] as string)).toBeLessThanOrEqual(60_000);
  });
});

describe('a client that sends nothing again', () => {
  it('needs no key for a refund', async () => {
    const limiter = limiterOf(clientOf({ sendsAgain: false }), bucket);

    await limiter.refund(await limiter.consume('key', 3));

    expect(await redis.admin.keys('*~*')).toEqual([]);
  });
});
