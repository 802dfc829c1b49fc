import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  type BreakerMessage,
  type IoredisClient,
  type NodeRedisClient,
} from '@sluice/old-core';
import { startRedisCluster, until, type RedisCluster } from '@sluice/testkit';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster(3, { nodeTimeoutMs: 60_000 }); // so that no node takes another for dead
});
afterAll(async () => {
  await cluster.stop();
});

/** A client, and what ends it. */
type Connected = readonly [client: IoredisClient | NodeRedisClient, end: () => unknown];

const ioredis = (): Promise<Connected> => {
  const client = new Cluster(
    cluster.nodes.map(({ host, port }) => ({ host, port })),
    { redisOptions: { maxRetriesPerRequest: 0 } },
  );
  return Promise.resolve([
    client,
    () => {
      client.disconnect();
    },
  ] as const);
};
const nodeRedis = async (): Promise<Connected> => {
  const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) });
  client.on('error', () => undefined);
  await client.connect();
  return [
    client,
    () => {
      client.destroy();
    },
  ];
};

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
])('a node of a cluster that hangs, through %s', (name, connect) => {
  it('is waited for no more after five failures, and the keys of the others do not notice', async () => {
    const [client, end] = await connect();
    const store = redisStore(client, { prefix: 'sluice' });
    const limiter = createLimiter({ name, policy: fixedWindow({ limit: 1e6, window: '1h' }), store, timeoutMs: 1000 });
    const keys = Array.from({ length: 90 }, (_, i) => `client-${String(i)}`);
    await store.ready();
    await until('every key to be decided by its node', async () => {
      const decisions = await Promise.all(keys.map(async (key) => limiter.consume(key)));
      return decisions.every(({ source }) => source === 'redis');
    });
    const opened: (string | undefined)[] = [];
    const listen = (message: unknown): void => {
      const { limiters, state, shard } = message as BreakerMessage;
      if (limiters.includes(name) && state === 'open') opened.push(shard);
    };
    subscribe('sluice:breaker', listen);

    const hung = await cluster.admin.primaryOf(`sluice:{${keys[0] ?? ''}}`);
    const its: string[] = [];
    for (const key of keys) {
      if ((await cluster.admin.primaryOf(`sluice:{${key}}`)).port === hung.port) its.push(key);
    }
    hung.pause();
    await Promise.all(its.slice(0, 5).map(async (key) => limiter.consume(key)));
    const decisions = await Promise.all(
      keys.map(async (key) => ({ key, source: (await limiter.consume(key)).source })),
    );
    hung.resume();
    unsubscribe('sluice:breaker', listen);

    expect(new Set(opened)).toEqual(new Set([`127.0.0.1:${String(hung.port)}`]));
    for (const { key, source } of decisions) {
      expect([key, source]).toEqual([key, its.includes(key) ? 'local' : 'redis']);
    }
    await until('its keys to be shared again', async () => (await limiter.consume(keys[0] ?? '')).source === 'redis');
    await limiter.close();
    end();
  });
});
