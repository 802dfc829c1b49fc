import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { createLimiter, fixedWindow, redisStore, silenceWarnings, type Limiter } from '@sluice/core';
import {
  startRedis,
  startSentinel,
  STORE_USER,
  tlsFixture,
  until,
  useClosing,
  type RedisSentinel,
  type RedisServer,
} from '@sluice/testkit';
import { openIoredis, openNodeRedis, type Opened } from './open-client.ts';

silenceWarnings('SLUICE_STORE_AWAY'); // a failover may be too quick for it

const LIMIT = 400;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });
const { name: username, password } = STORE_USER;

const closeLater = useClosing();

type Client = Parameters<typeof redisStore>[0];

/** A limiter that throws what its store throws, unless it decides locally. */
function limiterOver(client: Client, onStoreError: 'throw' | 'local' = 'throw'): Limiter {
  const store = redisStore(client, { prefix: 'sluice' });
  return closeLater(createLimiter({ policy, store, onStoreError, timeoutMs: 10_000 }));
}

/** The client, which is closed after the test. */
async function opened(opening: Promise<Opened>): Promise<Client> {
  const { client, end } = await opening;
  closeLater(() => end?.());
  return client;
}

describe('a server that speaks TLS', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis([], { tls: true });
  });
  afterAll(() => server.stop());

  it('is rejected by a URL if its certificate is not trusted', async () => {
    await expect(limiterOver(server.storeUrl).consume('key')).rejects.toMatchObject({ kind: 'connection' });
  });

  it('decides by a URL if the process trusts its certificate', async () => {
    const script = fileURLToPath(new URL('./children/consume-by-url.mjs', import.meta.url));
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: tlsFixture.caFile };
    const child = spawn(process.execPath, [script, server.storeUrl], { stdio: ['ignore', 'pipe', 'inherit'], env });
    let said = '';
    child.stdout.on('data', (text: Buffer) => (said += text.toString()));

    expect(await once(child, 'close')).toEqual([0, null]);
    expect(said).toBe('redis: allowed\n');
  });
});

describe('a failover by Sentinel', () => {
  let sentinel: RedisSentinel;
  beforeEach(async () => {
    sentinel = await startSentinel();
  });
  afterEach(() => sentinel.stop());

  const CLIENTS: Readonly<Record<string, () => Promise<Client>>> = {
    ioredis: () => {
      const access = { username, password, sentinelUsername: username, sentinelPassword: password };
      return opened(openIoredis(new Redis({ sentinels: [...sentinel.sentinels], name: sentinel.name, ...access })));
    },
    'node-redis': () => {
      const sentinelRootNodes = [...sentinel.sentinels];
      const nodeClientOptions = { username, password, disableOfflineQueue: true };
      const options = { name: sentinel.name, sentinelRootNodes, nodeClientOptions, maxCommandRediscovers: 0 };
      return opened(openNodeRedis(createSentinel(options)));
    },
  };

  it.each(Object.entries(CLIENTS))('is followed through %s, and throws nothing', async (_name, open) => {
    const limiter = limiterOver(await open(), 'local');
    await until('the store decides', async () => (await limiter.consume('key', 3)).source === 'redis');

    await sentinel.killPrimary();

    await until('the store decides again', async () => (await limiter.consume('other')).source === 'redis');
    const decisions = await Promise.all(Array.from({ length: 2 * LIMIT }, () => limiter.consume('key')));
    expect(decisions.filter(({ source }) => source === 'local')).toEqual([]);
    expect(decisions.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(LIMIT);
  });
});
