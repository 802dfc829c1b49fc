import type { EventEmitter } from 'node:events';
import { expect, it, jest } from '@jest/globals';
import { RESP_TYPES, createClient, createClientPool, createCluster } from 'redis';
import { redisStore, type NodeRedisClient } from '@sluice/old-core';
import { describeRedisClient, type Endpoint, type TestClient } from '@sluice/testkit';

interface Connectable extends NodeRedisClient, EventEmitter {
  connect(): Promise<unknown>;
  destroy(): unknown;
}

function made(client: Connectable): TestClient & { isConnected(): boolean } {
  client.on('error', () => undefined);
  return { client, isConnected: () => client.isOpen, close: () => void client.destroy() };
}

async function connected(client: Connectable): Promise<TestClient> {
  const open = made(client);
  await client.connect();
  return open;
}

// As docs/guides/redis-clients.md recommends.
const recommended = { disableOfflineQueue: true } as const;
const clusterOf = ({ nodes, username, password }: Endpoint, keyPrefix?: string): Connectable =>
  createCluster({
    rootNodes: nodes.map((socket) => ({ socket })),
    defaults: { ...recommended, username, password },
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
  });

describeRedisClient('of node-redis 6', {
  connect: ({ url }) => connected(createClient({ url, ...recommended })),
  unconnected: ({ url }) => made(createClient({ url })),
  prefixed: ({ url }, keyPrefix) => connected(createClient({ url, keyPrefix })),
  variants: {
    'with its default settings': ({ url }) => connected(createClient({ url })),
    'over RESP2': ({ url }) => connected(createClient({ url, RESP: 2 })),
    'with buffers for strings': async ({ url }) => {
      const { client, close } = await connected(createClient({ url }));
      const asBuffers = (client as ReturnType<typeof createClient>).withTypeMapping({
        [RESP_TYPES.BLOB_STRING]: Buffer,
        [RESP_TYPES.NUMBER]: String,
      });
      return { client: asBuffers, close };
    },
  },
});

describeRedisClient('pool of node-redis 6', {
  connect: ({ url }) => connected(createClientPool({ url, ...recommended }, { minimum: 2, maximum: 4 })),
  unconnected: ({ url }) => made(createClientPool({ url })),
  prefixed: ({ url }, keyPrefix) => connected(createClientPool({ url, keyPrefix })),
});

describeRedisClient('cluster of node-redis 6', {
  cluster: true,
  connect: (endpoint) => connected(clusterOf(endpoint)),
  unconnected: (endpoint) => made(clusterOf(endpoint)),
  prefixed: (endpoint, keyPrefix) => connected(clusterOf(endpoint, keyPrefix)),
});

it('warns of a keyPrefix with braces, which would move every key to one hash slot', () => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);

  redisStore(createCluster({ rootNodes: [], keyPrefix: '{shop}:' }), { prefix: 'sluice' });

  expect(warned.mock.calls.map(([, about]) => about)).toEqual([
    expect.objectContaining({ code: 'SLUICE_REDIS_KEY_PREFIX' }),
  ]);
  warned.mockRestore();
});
