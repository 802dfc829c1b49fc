import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  type BreakerMessage,
  type Limiter,
  type Store,
  type StoreErrorMessage,
} from '@sluice/old-core';
import { connectTo, expectWarnings, type RedisServer, startRedis, until } from '@sluice/testkit';
import { useChannels } from './use-channels.ts';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 1000, window: '1h' });
const published = useChannels((limiter) => limiter.startsWith('observed'));

let server: RedisServer;
let client: Redis;
let admin: Redis;
let limiter: Limiter;
beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  client = connectTo(server.storeUrl);
  admin = connectTo(server.url);
  limiter = limiterOn(60_000);
  await until('the store decides', async () => (await limiter.consume('key')).source === 'redis');
});
afterEach(async () => {
  await limiter.close();
  client.disconnect();
  admin.disconnect();
});
afterAll(async () => {
  await server.stop();
});

const limiterOn = (timeoutMs: number): Limiter =>
  createLimiter({
    name: 'observed',
    policy,
    store: redisStore(client, { prefix: 'sluice', breaker: { failures: 3, probeEveryMs: 20 } }),
    timeoutMs,
  });
const consume = async (times: number): Promise<void> => {
  for (let i = 0; i < times; i++) await limiter.consume('key');
};
const error = (kind: StoreErrorMessage['kind'], code = 'SLUICE_STORE_FAILED'): unknown => ({
  limiter: 'observed',
  store: 'redis',
  kind,
  code,
});
const breaker = (previous: string, state: string, kind: string): unknown => ({
  limiters: ['observed'],
  store: 'redis',
  shard: undefined,
  previous,
  state,
  kind,
});

describe('when Redis is killed', () => {
  it('each failed call is published, then the breaker that opens, then nothing until it closes', async () => {
    await server.kill();
    await until('the client has noticed', () => client.status !== 'ready');

    await consume(10);
    await server.restart();
    await until('the store decides', async () => (await limiter.consume('key')).source === 'redis');

    expect(published.storeErrors).toEqual(Array(3).fill(error('connection')));
    expect(published.breakers[0]).toEqual(breaker('closed', 'open', 'connection'));
    expect(published.breakers.at(-1)).toEqual(breaker('half-open', 'closed', 'connection'));
    expect(published.decisions.filter(({ decision }) => decision.source === 'local').length).toBeGreaterThanOrEqual(10);
  });
});

describe('when Redis hangs', () => {
  it('late calls are published as such', async () => {
    await limiter.close();
    limiter = limiterOn(200);
    server.pause();

    await consume(4);
    server.resume();
    await until('the store decides', async () => (await limiter.consume('key')).source === 'redis');

    expect(published.storeErrors).toEqual(Array(3).fill(error('timeout', 'SLUICE_STORE_TIMEOUT')));
    expect(published.breakers[0]).toEqual(breaker('closed', 'open', 'timeout'));
    expect(published.breakers.at(-1)).toEqual(breaker('half-open', 'closed', expect.any(String) as unknown as string));
  });
});

describe('when Redis returns an error', () => {
  it.each<[kind: StoreErrorMessage['kind'], code: string, spoil: () => Promise<unknown>, mend: () => Promise<unknown>]>(
    [
      [
        'denied',
        'SLUICE_STORE_FAILED',
        () => admin.call('ACL', 'SETUSER', 'sluice', '-evalsha'),
        () => admin.call('ACL', 'SETUSER', 'sluice', '+evalsha'),
      ],
      [
        'oom',
        'SLUICE_STORE_FAILED',
        () => admin.config('SET', 'maxmemory', '1'),
        () => admin.config('SET', 'maxmemory', '0'),
      ],
      [
        'key',
        'SLUICE_STORE_KEY_FOREIGN',
        async () => admin.multi().flushall().rpush('sluice:{key}:observed:2f', 'a').exec(),
        () => admin.flushall(),
      ],
    ],
  )('its kind is published: %s', async (kind, code, spoil, mend) => {
    await spoil();

    await consume(1);
    await mend();

    expect(published.storeErrors).toEqual([error(kind, code)]);
  });
});

describe('a store that fails', () => {
  const store = (): ReturnType<typeof memoryStore> =>
    memoryStore({
      clock: () => {
        throw new Error('broken');
      },
    });

  it('may be the memory: the error of a clock is published', async () => {
    await expect(createLimiter({ name: 'Own', policy, store: store() }).consume('key')).rejects.toThrow('broken');

    expect(published.storeErrors).toEqual([
      { limiter: 'Own', store: 'memory', kind: 'other', code: 'SLUICE_STORE_FAILED' },
    ]);
  });

  it('is published for a failed edit as well', async () => {
    await expect(createLimiter({ name: 'Own', policy, store: store() }).reset('key')).rejects.toThrow('broken');

    expect(published.storeErrors).toHaveLength(1);
  });
});

describe('the channel sluice:breaker', () => {
  it('names all limiters that count in the store', async () => {
    const nowhere = connectTo('redis://127.0.0.1:1');
    const store = redisStore(nowhere, { prefix: 'sluice', breaker: { failures: 1 } });
    const both = ['observed-first', 'observed-second'].map((name) =>
      createLimiter({ name, policy, store, timeoutMs: 60_000 }),
    );

    await both[0]?.consume('key');
    for (const each of both) await each.close();
    nowhere.disconnect();

    const [opened] = published.breakers as BreakerMessage[];
    expect(opened).toMatchObject({
      limiters: ['observed-first', 'observed-second'],
      state: 'open',
      kind: 'connection',
    });
  });

  it('names the part of the store, if parts fail independently', async () => {
    const store: Store = {
      source: 'redis',
      breaker: { failures: 1 },
      shardOf: (subject) => (subject === 'ann' ? '3' : '7'),
      perform: () => Promise.reject(new Error('away')),
    };
    const parted = createLimiter({ name: 'observed-parts', policy, store });

    await parted.consume('bob');
    await parted.consume('ann');
    const opened = published.breakers.map(({ shard, state }) => [shard, state]);
    await parted.close();

    expect(opened).toEqual([
      ['7', 'open'],
      ['3', 'open'],
    ]);
  });
});
