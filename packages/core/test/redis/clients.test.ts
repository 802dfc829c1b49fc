import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import {
  createLimiter,
  redisStore,
  slidingWindow,
  tokenBucket,
  type IoredisClient,
  type Limiter,
  type RedisClient,
} from '@sluice/core';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const policy = [
  slidingWindow({ name: 'steady', limit: 3, window: '1h' }),
  tokenBucket({ name: 'burst', capacity: 5, refill: 1, every: '1d' }),
];
const limiterOn = (client: RedisClient | IoredisClient | string): Limiter =>
  createLimiter({ policy, store: redisStore(client), onStoreError: 'throw', timeoutMs: 60_000 });

async function expectDecisions(limiter: Limiter): Promise<void> {
  const first = await limiter.consume('key', 2);
  const second = await limiter.consume('key', 2);
  await limiter.refund(first);
  const third = await limiter.consume('key', 3);

  expect(first).toMatchObject({ allowed: true, remaining: 1, source: 'redis' });
  expect(second).toMatchObject({ allowed: false, outcome: 'denied', policy: 'steady' });
  expect(third).toMatchObject({ allowed: true, remaining: 0 });
}

const bare = (): RedisClient => ({
  evalsha: (sha1, keys, args) => redis.client.evalsha(sha1, keys.length, ...keys, ...args),
  eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
});

describe('a Redis store', () => {
  it.each<[string, () => IoredisClient & { disconnect(): void }]>([
    ['ioredis 6', () => new Redis(redis.server.storeUrl)],
    ['ioredis 5', () => new Redis5(redis.server.storeUrl)],
    ['numbers as strings', () => new Redis(redis.server.storeUrl, { stringNumbers: true })],
    ['a keyPrefix of its own', () => new Redis(redis.server.storeUrl, { keyPrefix: 'sluice:app:' })],
    ['automatic pipelining', () => new Redis(redis.server.storeUrl, { enableAutoPipelining: true })],
  ])('decides through a client with %s', async (_what, connect) => {
    const client = connect();

    await expectDecisions(limiterOn(client));

    client.disconnect();
  });

  it('decides through any object with evalsha and eval', async () => {
    await expectDecisions(limiterOn(bare()));
  });

  it('reads values that come as buffers', async () => {
    const asBuffers = (reply: unknown): unknown =>
      typeof reply === 'string' ? Buffer.from(reply) : Array.isArray(reply) ? reply.map(asBuffers) : reply;
    const client = bare();
    const binary: RedisClient = {
      evalsha: async (...call) => asBuffers(await client.evalsha(...call)),
      eval: async (...call) => asBuffers(await client.eval(...call)),
    };

    const store = redisStore(binary);
    await expectDecisions(createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 }));
  });

  it('opens a URL on first use, and closes it with its last limiter', async () => {
    const connections = async (): Promise<number> =>
      ((await redis.admin.client('LIST')) as string).trim().split('\n').length;
    const before = await connections();
    const limiter = limiterOn(redis.server.storeUrl);
    expect(await connections()).toBe(before);

    await expectDecisions(limiter);
    expect(await connections()).toBe(before + 1);
    await limiter.close();

    // The server notices a moment later.
    let left = await connections();
    for (let look = 0; look < 10_000 && left > before; look++) left = await connections();
    expect(left).toBe(before);
  });

  it('keeps its keys behind the keyPrefix of the client', async () => {
    const client = new Redis(redis.server.storeUrl, { keyPrefix: 'sluice:app:' });

    await limiterOn(client).consume('key');

    expect(await redis.admin.keys('*')).toEqual(['sluice:app:sluice:{key}:default:1s.steady,t.burst']);
    client.disconnect();
  });

  it('warns once of a keyPrefix with braces, which would move every key to one hash slot', () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const client = new Redis(redis.server.storeUrl, { keyPrefix: '{app}:', lazyConnect: true });

    redisStore(client);
    redisStore(client);

    expect(warned.mock.calls.map(([, about]) => about)).toEqual([
      expect.objectContaining({ code: 'SLUICE_REDIS_KEY_PREFIX' }),
    ]);
    warned.mockRestore();
  });

  it('decides more requests than one call may carry, in order', async () => {
    const limiter = limiterOn(redis.client);

    const decisions = await Promise.all(Array.from({ length: 1_000 }, (_, i) => limiter.consume(`key-${String(i)}`)));

    expect(decisions.every(({ allowed, remaining }) => allowed && remaining === 2)).toBe(true);
  });

  it('leaves a client that was handed in open', async () => {
    const limiter = limiterOn(redis.client);
    await limiter.consume('key');

    await limiter.close();

    expect((await limiterOn(redis.client).consume('key')).remaining).toBe(1);
  });
});
