import { once, type EventEmitter } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import type { IoredisClient } from '@sluice/old-core';
import { describeRedisClient, type TestClient } from '@sluice/testkit';

// As docs/guides/redis-clients.md recommends.
const recommended = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
} as const;
const ofCluster = { enableOfflineQueue: false, retryDelayOnFailover: 0 } as const;

async function ready(
  client: IoredisClient & EventEmitter & { readonly status: string; disconnect(): void },
): Promise<TestClient> {
  client.on('error', () => undefined);
  await once(client, 'ready');
  return {
    client,
    close: async () => {
      client.disconnect();
      if (client.status !== 'end') await once(client, 'end');
    },
  };
}

/** A Cluster connects to a node with the first call for it, and denies those that come before the connection stands. */
async function reached(cluster: Cluster | Cluster5): Promise<TestClient> {
  const test = await ready(cluster);
  const connect = async (node: Redis | Redis5): Promise<void> => {
    if (node.status === 'wait') await node.connect();
    else if (node.status !== 'ready') await once(node, 'ready');
  };
  await Promise.all(cluster.nodes('master').map(connect));
  return test;
}

describeRedisClient('of ioredis 6', {
  connect: ({ url }) => ready(new Redis(url, recommended)),
  prefixed: ({ url }, keyPrefix) => ready(new Redis(url, { keyPrefix })),
  variants: {
    'with its default settings': ({ url }) => ready(new Redis(url)),
    'over RESP2': ({ url }) => ready(new Redis(url, { protocol: 2 })),
    'with numbers as strings': ({ url }) => ready(new Redis(url, { stringNumbers: true })),
    'with automatic pipelining': ({ url }) => ready(new Redis(url, { enableAutoPipelining: true })),
  },
});

describeRedisClient('of ioredis 5', {
  connect: ({ url }) => ready(new Redis5(url, recommended)),
  prefixed: ({ url }, keyPrefix) => ready(new Redis5(url, { keyPrefix })),
  variants: {
    'with its default settings': ({ url }) => ready(new Redis5(url)),
    'with automatic pipelining': ({ url }) => ready(new Redis5(url, { enableAutoPipelining: true })),
  },
});

describeRedisClient('Cluster of ioredis 6', {
  cluster: true,
  connect: ({ nodes, username, password }) =>
    reached(new Cluster([...nodes], { ...ofCluster, redisOptions: { ...recommended, username, password } })),
  prefixed: ({ nodes, username, password }, keyPrefix) =>
    reached(new Cluster([...nodes], { keyPrefix, redisOptions: { username, password } })),
});

describeRedisClient('Cluster of ioredis 5', {
  cluster: true,
  connect: ({ nodes, username, password }) =>
    reached(new Cluster5([...nodes], { ...ofCluster, redisOptions: { ...recommended, username, password } })),
  prefixed: ({ nodes, username, password }, keyPrefix) =>
    reached(new Cluster5([...nodes], { keyPrefix, redisOptions: { username, password } })),
});
