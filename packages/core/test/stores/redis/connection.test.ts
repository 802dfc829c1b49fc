import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { until, useClosing, useRedis } from '@sluice/testkit';
import { connectTo } from '../../../src/stores/redis/connection.ts';
import { openIoredis, openNodeRedis, type Opened } from './open-client.ts';

const redis = useRedis();
const closeLater = useClosing();

const CLIENTS: Readonly<Record<string, (url: string) => Promise<Opened>>> = {
  'a URL': (url) => Promise.resolve({ client: url }),
  ioredis: (url) => openIoredis(new Redis(url)),
  'node-redis': (url) => openNodeRedis(createClient({ url })),
};

it.each(Object.entries(CLIENTS))(
  'a connection through %s runs scripts, and tells of messages, also after its subscription was lost',
  async (_name, open) => {
    const { client, end } = await open(redis.server.url);
    closeLater(() => end?.());
    const connection = closeLater(connectTo(client, 'sluice', 'redisSource'));
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
  },
);
