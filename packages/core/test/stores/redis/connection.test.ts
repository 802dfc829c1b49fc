import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { until, useRedis } from '@sluice/testkit';
import { memoryStore } from '../../../src/stores/memory.ts';
import type { AnyRedisClient } from '../../../src/stores/redis/clients/adopt.ts';
import { findConnection, connectTo } from '../../../src/stores/redis/connection.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { failure } from './asks.ts';

const redis = useRedis();
const withAllRights = (): string => redis.server.url;

const CLIENTS: Readonly<Record<string, () => Promise<{ client: AnyRedisClient | string; end(): unknown }>>> = {
  'a URL': () => Promise.resolve({ client: withAllRights(), end: () => undefined }),
  ioredis: () => {
    const client = new Redis(withAllRights());
    return Promise.resolve({ client, end: () => client.quit() });
  },
  'node-redis': async () => {
    const client = createClient({ url: withAllRights() });
    client.on('error', () => undefined);
    await client.connect();
    return { client: client as unknown as AnyRedisClient, end: () => client.close() };
  },
};

describe.each(Object.entries(CLIENTS))('a connection through %s', (_name, open) => {
  it('runs scripts, and tells of messages, also after its subscription was lost', async () => {
    const { client, end } = await open();
    const connection = connectTo(client, 'sluice', 'redisSource');
    let told = 0;
    const stop = connection.subscribe('changes', () => told++);
    await until('it is subscribed', () => told === 1);

    expect(await connection.eval("return redis.call('PUBLISH', ARGV[1], KEYS[1])", ['sluice:{a}'], ['changes'])).toBe(
      1,
    );
    await until('the message comes', () => told === 2);
    await redis.admin.client('KILL', 'TYPE', 'PUBSUB');
    await until('it is subscribed again', () => told === 3);
    stop();

    await until(
      'it has ended',
      async () => (await redis.admin.call('PUBSUB', 'NUMSUB', 'changes'))?.toString() === 'changes,0',
    );
    await connection.close();
    await end();
  });

  it('fails with an error of the store', async () => {
    const { client, end } = await open();
    const connection = connectTo(client, 'sluice', 'redisSource');

    expect(await failure(connection.eval("return redis.call('GET')", [], []))).toMatchObject({
      code: 'SLUICE_STORE_FAILED',
    });
    await connection.close();
    await end();
  });
});

describe('the connection of a store', () => {
  it('has its prefix, and only Redis stores have one', () => {
    const store = redisStore(redis.client, { prefix: 'sluice:shop' });

    expect(findConnection(store)).toMatchObject({ prefix: 'sluice:shop' });
    expect(findConnection(memoryStore())).toBeUndefined();
  });
});
