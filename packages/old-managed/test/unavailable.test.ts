import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  redisStore,
  slidingWindow,
  type OnStoreError,
  type RedisClient,
  type RedisStore,
} from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import type { Redis } from 'ioredis';
import { connectTo, freePort, startRedis, until, type RedisServer } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter, keep, warnings } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const apps = ['checkout'];
const policy = managed('orders');

const hangs = (): Promise<never> => new Promise(() => undefined);

describe('a Redis that is away when the process starts', () => {
  const away = async (): Promise<RedisClient> => {
    const client = connectTo(`redis://127.0.0.1:${String(await freePort())}`, { enableOfflineQueue: false });
    keep({
      close: () => {
        client.disconnect();
        return Promise.resolve();
      },
    });
    return client as unknown as RedisClient;
  };
  const hung = (): Promise<RedisClient> => Promise.resolve({ evalsha: hangs, eval: hangs });

  describe.each([
    ['denies connections', away],
    ['hangs', hung],
  ])('and %s', (how, client) => {
    it.each([
      ['local', true],
      ['allow', true],
      ['deny', false],
    ] as const)('%s: unavailable, for there is no policy to decide by', async (onStoreError, allowed) => {
      const name = `${onStoreError}-${how.replace(' ', '-')}`;
      const store = redisStore(await client(), { prefix: 'sluice' });
      const orders = limiter({ name, policy, store, onStoreError, timeoutMs: 50 });

      const decisions = [await orders.consume('ann'), await orders.peek('ann')];

      for (const decision of decisions) {
        expect(decision).toMatchObject({ allowed, outcome: 'unavailable', source: 'none', limit: 0, policies: [] });
      }
      expect(warnings.filter((warning) => warning.includes(name))).toEqual([
        expect.stringMatching(/^SLUICE_POLICIES_UNKNOWN: /),
      ]);
    });

    it('throw: rejects with what failed', async () => {
      const orders = limiter({
        policy,
        store: redisStore(await client(), { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs: 50,
      });

      await expect(orders.consume('ann')).rejects.toMatchObject({
        name: 'StoreError',
        code: how === 'hangs' ? 'SLUICE_STORE_TIMEOUT' : 'SLUICE_STORE_FAILED',
      });
    });

    it('a policy cannot be put, and the call rejects', async () => {
      const here = policies(await client());

      await expect(here.put('orders', ten, { apps })).rejects.toMatchObject({ name: 'StoreError' });
      await expect(here.list()).rejects.toMatchObject({ name: 'StoreError' });
    });

    it('the limiter can be closed', async () => {
      const orders = limiter({
        policy,
        store: redisStore(await client(), { prefix: 'sluice' }),
        onStoreError: 'allow',
        timeoutMs: 50,
      });
      await orders.consume('ann');

      await expect(orders.close()).resolves.toBeUndefined();
    });
  });
});

describe('a Redis that goes away later', () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await server.stop();
  });
  const storeOf = (url: string): { client: Redis; store: RedisStore } => {
    const client = connectTo(url, { commandTimeout: 300 });
    keep({
      close: () => {
        client.disconnect();
        return Promise.resolve();
      },
    });
    return { client, store: redisStore(client, { prefix: 'sluice' }) };
  };

  it('local: this process keeps the last policy that it knows', async () => {
    const { client, store } = storeOf(server.url);
    const here = policies(client);
    await here.put('orders', ten, { apps });
    const orders = limiter({ policy, store, onStoreError: 'local', timeoutMs: 500 });
    await orders.consume('ann');
    await here.put('orders', slidingWindow({ limit: 3, window: '1h' }), { apps });
    await until('it hears of the change', async () => (await orders.peek('ann')).limit === 3);

    await server.kill();
    const decisions = [await orders.consume('bob', 2), await orders.consume('bob'), await orders.consume('bob')];

    expect(decisions.map(({ allowed, limit, source }) => ({ allowed, limit, source }))).toEqual([
      { allowed: true, limit: 3, source: 'local' },
      { allowed: true, limit: 3, source: 'local' },
      { allowed: false, limit: 3, source: 'local' },
    ]);
  });

  it('local: and with its share of it', async () => {
    const { client, store } = storeOf(server.url);
    await policies(client).put('orders', ten, { apps });
    const orders = limiter({ policy, store, onStoreError: 'local', localShare: 0.3, timeoutMs: 500 });
    expect((await orders.consume('ann')).limit).toBe(10);

    await server.kill();
    const decision = await orders.consume('bob', 3);

    expect(decision).toMatchObject({ allowed: true, limit: 3, remaining: 0, source: 'local' });
    expect((await orders.consume('bob')).allowed).toBe(false);
  });

  it('local: what was counted here goes over into a policy that is put when it is back, and another time away', async () => {
    const { client, store } = storeOf(server.url);
    const here = policies(client);
    await here.put('orders', ten, { apps });
    const orders = limiter({ policy, store, onStoreError: 'local', timeoutMs: 500 });
    await orders.consume('ann');
    await server.kill();
    expect(await orders.consume('bob', 4)).toMatchObject({ remaining: 6, source: 'local' });

    await server.restart();
    await until('it is put again', async () => (await here.put('orders', ten, { apps })).version);
    await here.put('orders', fixedWindow({ limit: 5, window: '1h' }), { apps });
    await until('Redis decides again', async () => {
      const { source, limit } = await orders.peek('carl');
      return source === 'redis' && limit === 5;
    });
    await server.kill();

    const decision = await orders.consume('bob');
    expect(decision).toMatchObject({ allowed: true, limit: 5, remaining: 0, source: 'local' });
  });

  it.each([
    ['allow', true],
    ['deny', false],
  ] as readonly (readonly [OnStoreError, boolean])[])('%s: unavailable', async (onStoreError, allowed) => {
    const { client, store } = storeOf(server.url);
    await policies(client).put('orders', ten, { apps });
    const orders = limiter({ policy, store, onStoreError, timeoutMs: 500 });
    await orders.consume('ann');

    await server.kill();

    expect(await orders.consume('ann')).toMatchObject({ allowed, outcome: 'unavailable', policy: 'orders' });
  });

  it('and is back: what is put then is known, without a restart', async () => {
    const { client, store } = storeOf(server.url);
    const here = policies(client);
    const orders = limiter({ policy, store, onStoreError: 'deny', timeoutMs: 500 });
    await here.put('orders', ten, { apps });
    await until('it is known', async () => (await orders.consume('ann')).allowed);
    await server.restart();

    await until('it is put', async () => (await here.put('orders', ten, { apps })).change);
    await here.put('orders', fixedWindow({ limit: 7, window: '1h' }), { apps });

    await until('it is known', async () => (await orders.consume('ann')).limit === 7);
  });
});

describe('policies that are kept elsewhere than the counts', () => {
  it('have a source that may fail while Redis decides: what was known goes on', async () => {
    let fails = false;
    const records = {
      orders: { format: 1, version: 9, policy: ten, apps, carryOver: 'keep', changedAtMs: 1, earlier: [] },
    };
    let loads = 0;
    const elsewhere = policies({
      load: () => {
        loads++;
        return fails ? Promise.reject(new Error('the registry is away')) : Promise.resolve(records);
      },
    });
    const orders = limiter({ policy, policies: elsewhere });
    await orders.consume('ann');

    fails = true;
    const before = loads;
    await until('a load has failed', () => loads > before);

    expect(await orders.consume('ann')).toMatchObject({ outcome: 'allowed', remaining: 8, source: 'redis' });
  });

  it.each([
    ['returns nothing', () => Promise.resolve(undefined)],
    ['returns a text', () => Promise.resolve('records')],
    ['rejects', () => Promise.reject(new Error('the registry is away'))],
    [
      'throws',
      () => {
        throw new Error('the registry is broken');
      },
    ],
  ] as unknown as readonly (readonly [string, () => Promise<never>])[])(
    'have a source that %s: unavailable',
    async (_how, load) => {
      const orders = limiter({ policy, policies: policies({ load }), onStoreError: 'deny', timeoutMs: 500 });

      expect(await orders.consume('ann')).toMatchObject({ allowed: false, outcome: 'unavailable', policy: 'orders' });
    },
  );
});
