import * as runner from '@jest/globals';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { connectTo, startRedis, until, useRedis } from '@sluice/testkit';
import { slidingWindow } from '../../../src/policies/sliding-window.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { describeStore } from '../../../src/testing/describe-store.ts';
import { allowed, ask, failure, five } from './asks.ts';

const redis = useRedis();
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
    const store = redisStore(`redis://blind:secret@127.0.0.1:${String(redis.server.port)}`, { prefix: 'sluice' });

    expect(await failure(store.perform('take', [ask('ann')]))).toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      kind: 'denied',
    });
    await store.close();
  });
});

describe('ready', () => {
  it('resolves when Redis decides, and leaves nothing there', async () => {
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice' });

    await store.ready();

    expect(await redis.admin.dbsize()).toBe(0);
    await store.close();
  });

  it('waits for a server that starts later', async () => {
    const server = await startRedis();
    await server.kill();
    const store = redisStore(server.storeUrl, { prefix: 'sluice' });
    const ready = store.ready(60_000);
    await server.restart();

    await expect(ready).resolves.toBeUndefined();
    await store.close();
    await server.stop();
  });

  it('rejects with the last error after its time, and when the store is closed', async () => {
    const server = await startRedis();
    await server.stop();
    const store = redisStore(server.storeUrl, { prefix: 'sluice' });

    await expect(store.ready(200)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection' });
    const waiting = store.ready(60_000);
    await store.close();
    await expect(waiting).rejects.toMatchObject({ kind: 'connection' });
  });

  it.each([0, -1, 1.5, '2s'])('does not take %p', async (timeoutMs) => {
    const store = redisStore(redis.client, { prefix: 'sluice' });

    await expect(store.ready(timeoutMs as number)).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID' });
  });
});

describe('redisStore', () => {
  it.each([undefined, '', 'two words', '{app}', 'x'.repeat(65)])('does not take the prefix %j', (prefix) => {
    expect(() => redisStore(redis.client, { prefix: prefix as string })).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        field: 'prefix',
        message: expect.stringContaining("redisStore(client, { prefix: 'shop' })") as unknown,
      }),
    );
  });

  it.each([undefined, null, 5, {}, { url: 'redis://user:s3cret@host' }])('does not take the client %j', (client) => {
    expect(() => redisStore(client as never, { prefix: 'sluice' })).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        message: expect.not.stringContaining('s3cret') as unknown,
      }),
    );
  });

  it('says how a client of Valkey GLIDE is passed', () => {
    expect(() => redisStore({ customCommand: () => undefined } as never, { prefix: 'sluice' })).toThrow(
      'evalsha and eval',
    );
  });

  it.each([0, -1, 1.5, '2s', Infinity])('does not take the connectTimeoutMs %p', (connectTimeoutMs) => {
    expect(() =>
      redisStore('redis://127.0.0.1', { prefix: 'sluice', connectTimeoutMs: connectTimeoutMs as number }),
    ).toThrow('connectTimeoutMs must be a whole number of milliseconds from 1 to');
  });

  it('takes no connectTimeoutMs beside a client, which connects by itself', () => {
    expect(() => redisStore(redis.client, { prefix: 'sluice', connectTimeoutMs: 100 })).toThrow(
      'connectTimeoutMs needs a URL',
    );
  });
});

describe('a server whose memory is full', () => {
  it('decides nothing, and frees no key that is denied', async () => {
    const server = await startRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'noeviction']);
    const admin = connectTo(server.url);
    const store = redisStore(admin, { prefix: 'sluice' });
    await store.perform('take', [ask('denied', five, 5)]);
    const fill = (round: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 500 }, async (_, i) =>
          store.perform('take', [ask(`${'k'.repeat(200)}-${String(round)}-${String(i)}`)]),
        ),
      );

    let round = 0;
    const full = until('it is full', () =>
      fill(round++).then(
        () => false,
        (error: unknown) => (error as { kind: string }).kind === 'oom',
      ),
    );
    await full;
    await admin.config('SET', 'maxmemory', '64mb');
    await until('it decides', async () => store.perform('take', [ask('another')]) as Promise<unknown>);

    expect(allowed(await store.perform('take', [ask('denied')]))).toEqual([false]);
    admin.disconnect();
    await server.stop();
  });
});
