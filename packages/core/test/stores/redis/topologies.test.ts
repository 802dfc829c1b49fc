import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';
import { createLimiter, fixedWindow, redisStore, type Decision, type Limiter, type StoreError } from '@sluice/core';
import {
  connectTo,
  startRedis,
  startRedisCluster,
  startSentinel,
  STORE_USER,
  tlsFixture,
  until,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
} from '@sluice/testkit';
import { openIoredis, openNodeRedis, type Opened } from './open-client.ts';

const LIMIT = 400;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });
const { name: username, password } = STORE_USER;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Client = Parameters<typeof redisStore>[0];

/** A limiter that throws what its store throws, unless it decides locally. */
function limiterOver(client: Client, onStoreError: 'throw' | 'local' = 'throw', timeoutMs = 10_000): Limiter {
  const limiter = createLimiter({ policy, store: redisStore(client, { prefix: 'sluice' }), onStoreError, timeoutMs });
  closing.push(() => limiter.close());
  return limiter;
}

/** The client, which is closed after the test. */
async function opened(opening: Promise<Opened>): Promise<Client> {
  const { client, end } = await opening;
  closing.push(() => end?.());
  return client;
}

/** Where it was decided, and how; or the kind of the store's failure. */
async function outcome(limiter: Limiter, key = 'key'): Promise<string> {
  return limiter.consume(key).then(
    ({ source, allowed }) => `${source}: ${allowed ? 'allowed' : 'denied'}`,
    (error: unknown) => (error as StoreError).kind,
  );
}

/** Consumes one unit after the other until the store denies, and counts those that the store allowed. */
async function drain(limiter: Limiter, key: string): Promise<{ allowed: number; local: number }> {
  const counts = { allowed: 0, local: 0 };
  for (;;) {
    const { source, allowed }: Decision = await limiter.consume(key);
    if (source === 'local') counts.local++;
    else if (allowed) counts.allowed++;
    else return counts;
    await new Promise((resolve) => setTimeout(resolve, 1)); // a local decision lets nothing else run
  }
}

describe('a server that cannot decide', () => {
  let server: RedisServer;
  let admin: Redis;
  let limiter: Limiter;
  beforeEach(async () => {
    server = await startRedis();
    admin = connectTo(server.url, { commandTimeout: 60_000, enableReadyCheck: false });
    const client = connectTo(server.storeUrl, { enableReadyCheck: false });
    closing.push(() => client.disconnect());
    limiter = limiterOver(client);
    await until('it is connected', () => limiter.consume('key', 4));
  });
  afterEach(async () => {
    admin.disconnect();
    await server.stop();
  });

  it('because it loads its data says so, and goes on with what it has stored', async () => {
    await admin.config('SET', 'rdbcompression', 'no');
    await admin.eval('for i = 1, 200 do redis.call("SET", i, string.rep("x", 1024)) end', 0);
    await admin.save();
    // A key takes 50 ms, and clients are served after each.
    const slowly = ['--key-load-delay', '50000', '--loading-process-events-interval-bytes', '1024'];
    await server.restart({ args: slowly, until: '-LOADING' });

    await until('it says so', async () => (await outcome(limiter)) === 'loading');
    await until('it loads fast', async () => (await admin.config('SET', 'key-load-delay', '0')) === 'OK');

    expect(await until('it decides', () => limiter.peek('key'))).toMatchObject({ used: 4 });
  });
});

describe('a server that speaks TLS', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis([], { tls: true });
  });
  afterAll(() => server.stop());

  it('decides through a client that trusts its certificate', async () => {
    const client = await opened(openIoredis(new Redis(server.storeUrl, { tls: { ca: tlsFixture.ca } })));

    expect(await outcome(limiterOver(client))).toBe('redis: allowed');
  });

  it('is rejected by a URL if its certificate is not trusted', async () => {
    expect(await outcome(limiterOver(server.storeUrl))).toBe('connection');
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
    const { allowed, local } = await drain(limiter, 'key');
    expect(local).toBe(0);
    expect(allowed).toBeLessThanOrEqual(LIMIT);
  });
});

describe('a cluster that changes under load', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3, { replicas: 1 });
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    for (const node of cluster.nodes) {
      await cluster.admin
        .clientOf(node)
        .flushall()
        .catch(() => undefined); // a replica
    }
  });

  const CLIENTS: Readonly<Record<string, () => Promise<Client>>> = {
    ioredis: () => {
      const seeds = cluster.nodes.map(({ host, port }) => ({ host, port }));
      return opened(openIoredis(new Cluster(seeds, { redisOptions: { username, password, disconnectTimeout: 50 } })));
    },
    'node-redis': () => {
      const rootNodes = cluster.nodes.map(({ host, port }) => ({ socket: { host, port } }));
      return opened(openNodeRedis(createCluster({ rootNodes, defaults: { username, password } })));
    },
  };

  describe.each(Object.entries(CLIENTS))('through %s', (_name, open) => {
    it('allows exactly the limit of a key whose slot moves', async () => {
      const limiter = limiterOver(await open());
      await until('it is connected', () => limiter.peek('ann'));
      const draining = drain(limiter, 'ann');

      const slot = await cluster.admin.slotOf('sluice:{ann}');
      const owner = await cluster.admin.primaryOf('sluice:{ann}');
      const to = cluster.nodes.slice(0, 3).find((node) => node !== owner) as RedisServer;
      await cluster.admin.moveSlot(slot, to, () => new Promise((resolve) => setTimeout(resolve, 30)));

      expect(await draining).toEqual({ allowed: LIMIT, local: 0 });
    });
  });
});
