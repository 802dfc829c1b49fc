import { once } from 'node:events';
import { Redis } from 'iovalkey';
import { describeRedisClient, type TestClient } from '@sluice/testkit';

async function ready(client: Redis): Promise<TestClient> {
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

describeRedisClient('of iovalkey', {
  connect: ({ url }) =>
    ready(new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false })),
  prefixed: ({ url }, keyPrefix) => ready(new Redis(url, { keyPrefix })),
});
