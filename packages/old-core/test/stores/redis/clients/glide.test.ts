import { Decoder, GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import type { RedisClient } from '@sluice/old-core';
import { describeRedisClient, type Endpoint, type TestClient } from '@sluice/testkit';

Logger.init('off');

// As the default user: the user of the tests may not PING, which GLIDE does before it uses a connection.
const configOf = ({ nodes }: Endpoint) => ({ addresses: [...nodes], requestTimeout: 60_000 });

// As docs/guides/redis-clients.md shows.
const wrapped = (client: GlideClient | GlideClusterClient): RedisClient => ({
  evalsha: (sha1, keys, args) => client.customCommand(['EVALSHA', sha1, String(keys.length), ...keys, ...args]),
  eval: (script, keys, args) => client.customCommand(['EVAL', script, String(keys.length), ...keys, ...args]),
  cluster: client instanceof GlideClusterClient,
});

const handed = (client: GlideClient | GlideClusterClient): TestClient => ({
  client: wrapped(client),
  close: () => {
    client.close();
  },
});

describeRedisClient('of Valkey GLIDE', {
  connect: async (endpoint) => handed(await GlideClient.createClient(configOf(endpoint))),
  variants: {
    'with buffers for strings': async (endpoint) =>
      handed(await GlideClient.createClient({ ...configOf(endpoint), defaultDecoder: Decoder.Bytes })),
  },
});

describeRedisClient('cluster client of Valkey GLIDE', {
  cluster: true,
  connect: async (endpoint) => handed(await GlideClusterClient.createClient(configOf(endpoint))),
});
