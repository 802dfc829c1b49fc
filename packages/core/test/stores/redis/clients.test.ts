import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Decoder, GlideClient } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as Valkey } from 'iovalkey';
import { createClient, createClientPool, RESP_TYPES } from 'redis';
import { startRedis, startTcpProxy, until, useClosing, type RedisServer, type TcpProxy } from '@sluice/testkit';
import { slidingLog } from '../../../src/policies/sliding-log.ts';
import type { AnyRedisClient } from '../../../src/stores/redis/clients/adopt.ts';
import { redisStore, type RedisStore } from '../../../src/stores/redis/redis-store.ts';
import { allowed, ask, failure, five, remaining } from './asks.ts';
import { openIoredis, openNodeRedis, wrapGlide, type Opened } from './open-client.ts';

const closeLater = useClosing();

// As the default user: GLIDE asks for PING before it uses a connection, which the user of the tests may not.
async function glide({ host }: RedisServer, port: number, defaultDecoder: Decoder): Promise<Opened> {
  return wrapGlide(
    await GlideClient.createClient({ addresses: [{ host, port }], requestTimeout: 2000, defaultDecoder }),
  );
}

// As docs/guides/redis-clients.md recommends.
const recommended = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
} as const;
const SINGLE: Readonly<Record<string, (url: string, server: RedisServer, port: number) => Promise<Opened>>> = {
  'a URL': (url) => Promise.resolve({ client: url }),
  'ioredis 6': (url) => openIoredis(new Redis(url, recommended)),
  'ioredis 6 with its defaults': (url) => openIoredis(new Redis(url)),
  'ioredis 6 with automatic pipelining': (url) =>
    openIoredis(new Redis(url, { ...recommended, enableAutoPipelining: true })),
  'ioredis 5 with its defaults': (url) => openIoredis(new Redis5(url)),
  'iovalkey with its defaults': (url) => openIoredis(new Valkey(url)),
  'node-redis': (url) => openNodeRedis(createClient({ url, disableOfflineQueue: true })),
  'node-redis with its defaults': (url) => openNodeRedis(createClient({ url })),
  'node-redis with buffers': async (url) => {
    const client = createClient({ url });
    const { end } = await openNodeRedis(client);
    return {
      client: client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }) as unknown as AnyRedisClient,
      ...(end && { end }),
    };
  },
  'Valkey GLIDE': (_url, server, port) => glide(server, port, Decoder.String),
  'Valkey GLIDE with buffers': (_url, server, port) => glide(server, port, Decoder.Bytes),
  'a pool of node-redis': (url) =>
    openNodeRedis(createClientPool({ url, disableOfflineQueue: true }, { minimum: 2, maximum: 4 })),
};

describe.each(Object.entries(SINGLE))('over %s, a store', (_name, open) => {
  let server: RedisServer;
  let relay: TcpProxy;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    relay = closeLater(await startTcpProxy(server));
    const { client, end } = await open(relay.through(server.storeUrl), server, relay.port);
    store = redisStore(client, { prefix: 'sluice' });
    closeLater(() => end?.());
    closeLater(store);
    await store.perform('reset', [ask('ann'), ask('bob'), ask('cid')]);
  });

  it('takes of all keys or of none, gives back, and reads long states', async () => {
    const log = { ...ask('ann', slidingLog({ limit: 3, window: '1m' })), key: '{ann}:default:log' };
    const asks = [ask('ann', five, 2), { ...log, cost: 2 }];

    const [first, second] = [await store.perform('take', asks), await store.perform('take', asks)];
    await store.perform('give', [ask('ann', five, 1)]);

    expect(allowed(first, second)).toEqual([true, false]);
    expect(await remaining(store, ask('ann'), log)).toEqual([4, 1]);
    await store.perform('reset', [log]);
  });

  it('carries keys of any characters, each with its own budget', async () => {
    const asks = ['Zoë', '日本', '🚀', 'a b', 'line\nbreak', 'zero\0byte', 'é'.repeat(200)].map((key) => ask(key));
    await store.perform('reset', asks);

    for (const [i, one] of asks.entries()) for (let n = 0; n <= i % 5; n++) await store.perform('take', [one]);

    expect(await remaining(store, ...asks)).toEqual(asks.map((_, i) => 4 - (i % 5)));
  });

  it('sends nothing again when it is cut off after Redis has decided', async () => {
    const direct = closeLater(redisStore(server.storeUrl, { prefix: 'sluice' }));
    await store.perform('take', [ask('ann', five, 4)]);

    relay.loseAnswers();
    const calls = [
      Promise.resolve(store.perform('take', [ask('bob')])),
      Promise.resolve(store.perform('give', [ask('ann', five, 2)])),
    ];
    const outcomes = Promise.allSettled(calls);
    await until('Redis has decided', async () => (await remaining(direct, ask('ann'), ask('bob'))).join() === '3,4');
    relay.cut();

    expect((await outcomes).map(({ status }) => status)).toContain('rejected'); // a pool may go on over another connection
    await until('Redis decides again', () =>
      Promise.resolve(store.perform('peek', [ask('cid')])).catch(() => undefined),
    );
    expect(await remaining(direct, ask('ann'), ask('bob'))).toEqual([3, 4]);
  });

  it('sends nothing later that was asked while Redis was away', async () => {
    const away = await startRedis();
    closeLater(() => away.stop());
    const { client, end } = await open(away.storeUrl, away, away.port);
    closeLater(() => end?.());
    const other = closeLater(redisStore(client, { prefix: 'sluice' }));
    await other.perform('take', [ask('ann')]);

    await away.kill();
    await until('it is noticed', () => failure(Promise.resolve(other.perform('peek', [ask('ann')]))));
    const error = await failure(other.perform('take', [ask('ann')]));
    await away.restart();
    await until('Redis decides', () => Promise.resolve(other.perform('peek', [ask('ann')])).catch(() => undefined));

    expect(error).toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      kind: expect.stringMatching(/connection|timeout/) as unknown,
    });
    expect(await remaining(other, ask('ann'))).toEqual([5]);
  });
});
