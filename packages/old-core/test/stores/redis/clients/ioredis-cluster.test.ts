import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, type ClusterOptions } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
import {
  startDeafRelay,
  startRedisCluster,
  STORE_USER,
  until,
  type DeafRelay,
  type RedisCluster,
} from '@sluice/testkit';

// As docs/guides/redis-clients.md recommends.
const recommended = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  redisOptions: {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disconnectTimeout: 50, // of a connection that is gone already, and would keep the process for two seconds
    username: STORE_USER.name,
    password: STORE_USER.password,
  },
} as const;

let cluster: RedisCluster;
let relays: readonly DeafRelay[] = [];
/** Nodes tell clients where they are; from here all of them are behind a relay. */
let natMap: NonNullable<ClusterOptions['natMap']> = {};
beforeAll(async () => {
  cluster = await startRedisCluster(3);
  relays = await Promise.all(cluster.nodes.map((node) => startDeafRelay(node)));
  natMap = Object.fromEntries(
    cluster.nodes.map(({ host, port }, i) => [
      `${host}:${String(port)}`,
      { host: '127.0.0.1', port: relays[i]?.port ?? 0 },
    ]),
  );
});
afterAll(async () => {
  for (const relay of relays) relay.close();
  await cluster.stop();
});

const seeds = (): { host: string; port: number }[] => cluster.nodes.map(({ host, port }) => ({ host, port }));

describe.each([
  ['6', () => new Cluster(seeds(), { ...recommended, natMap })],
  ['5', () => new Cluster5(seeds(), { ...recommended, natMap })],
])('a Cluster of ioredis %s, cut off after a node has decided', (version, connect) => {
  it('sends nothing again: neither what takes units nor what gives them back', async () => {
    const direct = new Cluster(seeds(), { redisOptions: recommended.redisOptions });
    const client = connect();
    client.on('error', () => undefined);
    await once(client, 'ready');
    const options = { name: `cut-${version}`, policy: fixedWindow({ limit: 100, window: '1h' }) };
    const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
    const limiter = createLimiter({
      ...options,
      store: redisStore(client, { prefix: 'sluice', breaker: false }),
      ...strict,
    });
    const onlooker = createLimiter({
      ...options,
      store: redisStore(direct, { prefix: 'sluice', breaker: false }),
      ...strict,
    });
    const remaining = async (): Promise<number> => (await onlooker.peek('key')).remaining;
    const cutOff = async (call: () => Promise<unknown>, change: number): Promise<void> => {
      const left = (await remaining()) + change;
      for (const relay of relays) relay.loseAnswers();
      const called = call().catch((error: unknown) => (error as { code: string }).code);
      await until('the node has decided', async () => (await remaining()) === left);
      for (const relay of relays) relay.cut();
      expect(await called).toBe('SLUICE_STORE_FAILED');
      await until('the node decides again', () => limiter.peek('key').catch(() => undefined));
      expect(await remaining()).toBe(left);
    };
    const decision = await until('a decision', () => limiter.consume('key', 40).catch(() => undefined));

    await cutOff(() => limiter.consume('key', 10), -10);
    await cutOff(() => limiter.refund(decision, 20), 20);

    await limiter.close();
    await onlooker.close();
    client.disconnect();
    direct.disconnect();
  });
});
