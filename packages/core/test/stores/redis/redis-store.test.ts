import { spawnSync } from 'node:child_process';
import * as runner from '@jest/globals';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { connectTo, startRedis, until, useClosing, useRedis } from '@sluice/testkit';
import { createLimiter } from '../../../src/limiter/create-limiter.ts';
import { slidingWindow } from '../../../src/policies/sliding-window.ts';
import { redisStore, type RedisStore } from '../../../src/stores/redis/redis-store.ts';
import { describeStore } from '../../../src/testing/describe-store.ts';
import { allowed, ask, failure, five } from './asks.ts';

const redis = useRedis();
const closeLater = useClosing();
const storeAt = (url: string): RedisStore => closeLater(redisStore(url, { prefix: 'sluice' }));
beforeEach(async () => {
  await redis.admin.flushall();
});

describeStore('in Redis', () => redisStore(redis.client, { prefix: 'sluice' }), runner);

describe('a store in Redis', () => {
  it('writes one key for each limiter and subject, with its prefix before it, and every key expires', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice:shop' });

    await store.perform('take', [
      ask('ann'),
      { ...ask('ann', slidingWindow({ limit: 5, window: '1m' })), key: '{ann}:default:burst' },
    ]);

    const keys = await redis.admin.keys('*');
    expect(keys.toSorted()).toEqual(['sluice:shop:{ann}:default', 'sluice:shop:{ann}:default:burst']);
    for (const key of keys) expect(await redis.admin.pttl(key)).toBeGreaterThan(0);
  });

  it('fails a call whose user may not do something, and takes no value for a foreign one', async () => {
    await redis.admin.acl('SETUSER', 'blind', 'on', '>secret', '~sluice:*', '+evalsha', '+eval', '+time', '+set');
    const store = storeAt(`redis://blind:secret@127.0.0.1:${String(redis.server.port)}`);

    expect(await failure(store.perform('take', [ask('ann')]))).toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      kind: 'denied',
    });
  });

  it('misses no answer that waits in the socket while this process stalls', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice' });
    await store.ready();
    const limiter = createLimiter({ limit: 9, window: '1h', store, timeoutMs: 20 });

    const decision = limiter.consume('ann');
    await new Promise(setImmediate); // sent
    // Ends some time after the server has answered what was sent to it before.
    const program = `
      const socket = require('node:net').connect(${String(redis.server.port)}, '127.0.0.1', () => socket.write('PING\\r\\n'));
      socket.once('data', () => setTimeout(() => socket.destroy(), 50));`;
    spawnSync(process.execPath, ['-e', program]);

    expect((await decision).source).toBe('redis');
  });
});

describe('ready', () => {
  it('resolves when Redis decides, and leaves nothing there', async () => {
    await storeAt(redis.server.storeUrl).ready();

    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('waits for a server that starts later', async () => {
    const server = await startRedis();
    closeLater(() => server.stop());
    await server.kill();
    const ready = storeAt(server.storeUrl).ready(60_000);
    await server.restart();

    await expect(ready).resolves.toBeUndefined();
  });

  it('rejects with the last error after its time, and when the store is closed', async () => {
    const server = await startRedis();
    await server.stop();
    const store = storeAt(server.storeUrl);

    await expect(store.ready(200)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection' });
    const waiting = store.ready(60_000);
    await store.close();
    await expect(waiting).rejects.toMatchObject({ kind: 'connection' });
  });
});

const prefix = 'sluice';

describe('redisStore', () => {
  it.each<[client: unknown, options: unknown, text: string]>([
    ...[undefined, '', 'two words', '{app}', 'x'.repeat(65)].map((bad): [unknown, unknown, string] => {
      return ['redis://127.0.0.1', { prefix: bad }, "redisStore(client, { prefix: 'shop' })"];
    }),
    ...[undefined, '', ' '].map((bad): [unknown, unknown, string] => {
      return [bad, { prefix }, 'is the environment variable with the URL set?'];
    }),
    ...[null, 5, {}].map((bad): [unknown, unknown, string] => {
      return [bad, { prefix }, 'an object with evalsha(sha1, keys, args) and eval(script, keys, args)'];
    }),
    [{ customCommand: () => undefined }, { prefix }, 'evalsha and eval'],
    [{ url: 'redis://user:s3cret@host' }, { prefix }, 'write redisStore('],
    ...[0, -1, 1.5, '2s', Infinity].map((bad): [unknown, unknown, string] => {
      return [
        'redis://127.0.0.1',
        { prefix, connectTimeoutMs: bad },
        'must be a whole number of milliseconds from 1 to',
      ];
    }),
    [{ evalsha: () => '', eval: () => '' }, { prefix, connectTimeoutMs: 9 }, 'connectTimeoutMs needs'],
    ['http://user:s3cret@host', { prefix }, 'redis://user:password@host:6379/0'],
    ['127.0.0.1:6379', { prefix }, 'redis://user:password@host:6379/0'],
    ['redis//user:s3cret@host', { prefix }, 'redis://user:password@host:6379/0'],
    ['redis://user:s3cret@host:port', { prefix }, 'redis://user:password@host:6379/0'],
    ['redis://user:s3c@ret:s3cret@host:6379/zero', { prefix }, 'number of a database'],
    ['redis://host?password=s3cret', { prefix }, 'no query'],
    ['redis://host#s3cret', { prefix }, 'no query'],
    ['redis://user:%zzs3cret@host', { prefix }, 'encodeURIComponent'],
  ])('of %p with %j is rejected at once, without a word of a password', (client, options, text) => {
    const make = (): unknown => redisStore(client as string, options as { prefix: string });

    expect(make).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', message: expect.stringContaining(text) as unknown }),
    );
    expect(make).not.toThrow('s3cret');
  });

  it.each([0, -1, 1.5, '2s'])('is not ready within %p', async (timeoutMs) => {
    await expect(redisStore(redis.client, { prefix }).ready(timeoutMs as number)).rejects.toMatchObject({
      code: 'SLUICE_OPTION_INVALID',
    });
  });
});

describe('a server whose memory is full', () => {
  it('decides nothing, and frees no key that is denied', async () => {
    const server = await startRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'noeviction']);
    closeLater(() => server.stop());
    const admin = connectTo(server.url);
    closeLater(() => admin.disconnect());
    const store = redisStore(admin, { prefix: 'sluice' });
    await store.perform('take', [ask('denied', five, 5)]);
    const fill = (round: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 500 }, async (_, i) =>
          store.perform('take', [ask(`${'k'.repeat(200)}-${String(round)}-${String(i)}`)]),
        ),
      );

    let round = 0;
    await until('it is full', () =>
      fill(round++).then(
        () => false,
        (error: unknown) => (error as { kind: string }).kind === 'oom',
      ),
    );
    await admin.config('SET', 'maxmemory', '64mb');
    await until('it decides', async () => store.perform('take', [ask('another')]) as Promise<unknown>);

    expect(allowed(await store.perform('take', [ask('denied')]))).toEqual([false]);
  });
});
