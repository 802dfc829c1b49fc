import { inspect } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import type { GlideClient } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import {
  RESP_TYPES,
  createClient,
  createClientPool,
  createCluster,
  createSentinel,
  defineScript,
  type CommandParser,
  type RedisClientType,
  type RedisClusterType,
  type RedisFunctions,
  type RedisModules,
  type RedisScripts,
} from 'redis';
import { createLimiter, fixedWindow, redisStore, type RedisClient } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();
const lazy = { lazyConnect: true } as const;

describe('a Redis store', () => {
  // The compiler is the test: none of them needs a cast, whatever its type parameters are.
  it.each<[string, () => unknown]>([
    ['ioredis 6', () => redisStore(new Redis(lazy), { prefix: 'sluice' })],
    ['a Cluster of ioredis 6', () => redisStore(new Cluster([], lazy), { prefix: 'sluice' })],
    ['ioredis 5', () => redisStore(new Redis5(lazy), { prefix: 'sluice' })],
    ['a Cluster of ioredis 5', () => redisStore(new Cluster5([], lazy), { prefix: 'sluice' })],
    ['iovalkey', () => redisStore(new Valkey(lazy), { prefix: 'sluice' })],
    ['a Cluster of iovalkey', () => redisStore(new ValkeyCluster([], lazy), { prefix: 'sluice' })],
    ['node-redis', () => redisStore(createClient(), { prefix: 'sluice' })],
    ['node-redis over RESP2', () => redisStore(createClient({ RESP: 2 }), { prefix: 'sluice' })],
    ['node-redis with a script', () => redisStore(createClient({ scripts: { twice } }), { prefix: 'sluice' })],
    [
      'node-redis with buffers',
      () => redisStore(createClient().withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }), { prefix: 'sluice' }),
    ],
    ['node-redis of any type', () => redisStore(anyOf(createClient()), { prefix: 'sluice' })],
    ['a pool of node-redis', () => redisStore(createClientPool(), { prefix: 'sluice' })],
    ['a cluster of node-redis', () => redisStore(createCluster({ rootNodes: [] }), { prefix: 'sluice' })],
    [
      'a cluster of node-redis of any type',
      () => redisStore(anyClusterOf(createCluster({ rootNodes: [] })), { prefix: 'sluice' }),
    ],
    [
      'a sentinel of node-redis',
      () => redisStore(createSentinel({ name: 'main', sentinelRootNodes: [nowhere] }), { prefix: 'sluice' }),
    ],
    [
      'an object',
      () =>
        redisStore(
          { evalsha: () => Promise.resolve(), eval: () => Promise.resolve(), cluster: true },
          { prefix: 'sluice' },
        ),
    ],
  ])('takes %s, and sends nothing yet', (_what, make) => {
    expect(make()).toMatchObject({ source: 'redis' });
  });

  it.each([
    ['nothing', undefined],
    ['an object of no such kind', { get: () => undefined }],
    ['one half of a client', { evalsha: () => Promise.resolve() }],
    ['the callbacks of node-redis', createClient().legacy()],
  ])('denies %s, and says what it takes', (_what, client) => {
    expect(() => redisStore(client as unknown as RedisClient, { prefix: 'sluice' })).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        message: expect.stringMatching(/redisStore takes a client of ioredis, iovalkey or node-redis/) as unknown,
      }),
    );
  });

  it('takes no check that is neither true nor false', () => {
    expect(() => redisStore('redis://127.0.0.1', { prefix: 'sluice', check: 'yes' as never })).toThrow(
      'check must be true or false, got "yes"',
    );
  });

  it('denies a client of Valkey GLIDE as it is, and says where to look', () => {
    const glide: Pick<GlideClient, 'customCommand'> = { customCommand: () => Promise.resolve(null) };

    expect(() => redisStore(glide as unknown as RedisClient, { prefix: 'sluice' })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/docs\/guides\/redis-clients\.md/) as unknown }),
    );
  });

  it('warns once of a keyPrefix with braces, which would move every key to one hash slot', () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const client = new Redis({ ...lazy, keyPrefix: '{app}:' });

    redisStore(client, { prefix: 'sluice' });
    redisStore(client, { prefix: 'sluice' });

    expect(warned.mock.calls.map(([, about]) => about)).toEqual([
      expect.objectContaining({ code: 'SLUICE_REDIS_KEY_PREFIX' }),
    ]);
    warned.mockRestore();
  });

  it('decides more requests than one call may carry, in order', async () => {
    const policy = fixedWindow({ limit: 3, window: '1h' });
    const limiter = createLimiter({
      policy,
      store: redisStore(redis.client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const decisions = await Promise.all(Array.from({ length: 1_000 }, (_, i) => limiter.consume(`key-${String(i)}`)));

    expect(decisions.every(({ allowed, remaining }) => allowed && remaining === 2)).toBe(true);
  });

  it('hangs no key of a client on what it throws', async () => {
    await redis.admin.acl('SETUSER', 'ping-only', 'on', '>secret', '~*', '+ping');
    const client = new Redis({
      port: redis.server.port,
      username: 'ping-only',
      password: 'secret',
      enableReadyCheck: false,
    });
    const policy = fixedWindow({ limit: 3, window: '1h' });
    const limiter = createLimiter({
      policy,
      store: redisStore(client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const error: unknown = await limiter.consume('203.0.113.7').catch((reason: unknown) => reason);

    expect(error).toMatchObject({ name: 'StoreError', kind: 'denied' });
    expect(inspect(error, { depth: Infinity })).not.toContain('203.0.113.7');
    client.disconnect();
  });
});

const nowhere = { host: '127.0.0.1', port: 1 } as const;
const twice = defineScript({
  SCRIPT: 'return ARGV[1] * 2',
  NUMBER_OF_KEYS: 0,
  parseCommand: (parser: CommandParser, n: number) => {
    parser.push(String(n));
  },
  transformReply: (reply: unknown) => Number(reply),
});

/** As a function that takes any of them has it. */
function anyOf<M extends RedisModules, F extends RedisFunctions, S extends RedisScripts>(
  client: RedisClientType<M, F, S>,
): RedisClientType<M, F, S> {
  redisStore(client, { prefix: 'sluice' });
  return client;
}

function anyClusterOf<M extends RedisModules, F extends RedisFunctions, S extends RedisScripts>(
  client: RedisClusterType<M, F, S>,
): RedisClusterType<M, F, S> {
  redisStore(client, { prefix: 'sluice' });
  return client;
}
