import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { NestStorage, fastifyStore, type FastifyStoreCallback } from '@sluice/compat/stores';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import { fakeClock, type FakeClock } from '@sluice/core/testing';
import sluice from '@sluice/fastify';
import { newClient, useClosing, useRedis, type HttpClient } from '@sluice/testkit';
import fastify, { type FastifyInstance } from 'fastify';
import { peer, type PeerDecorators, type PeerOptions } from './fastify-peer.ts';

/** The options of the peer, which a route of this program has no type for. */
const own = { rateLimit: { max: 1, timeWindow: '1m' } } as never;

function makeApp(options: PeerOptions, store: Store): FastifyInstance {
  const app = fastify();
  app.register(peer, { ...options, store: fastifyStore({ store, timeoutMs: 60_000 }) });
  app.register((routes, _options, done) => {
    routes.get('/', () => 'good');
    routes.get('/own', { config: own }, () => 'good');
    done();
  });
  return app;
}

const closing = useClosing();

/** A client of an application, which listens until the test ends. */
async function start(app: FastifyInstance): Promise<HttpClient> {
  await closing(app).listen({ host: '127.0.0.1', port: 0 });
  return newClient((app.server.address() as AddressInfo).port);
}

const open = (options: PeerOptions, store: Store = memoryStore()): Promise<HttpClient> =>
  start(makeApp(options, store));

/** What an act results in after each of these times, in the same form: milliseconds, and the result. */
async function play(steps: string, clock: FakeClock, act: () => Promise<unknown>): Promise<string> {
  const seen: string[] = [];
  for (const step of steps.split(', ')) {
    const afterMs = Number.parseInt(step, 10);
    clock.advance(afterMs);
    seen.push(`${String(afterMs)}: ${String(await act())}`);
  }
  return seen.join(', ');
}

describe('a store for @fastify/rate-limit', () => {
  const redis = useRedis();
  const inRedis = (): Store => redisStore(redis.client, { prefix: 'sluice' });

  it.each<[string, () => Store]>([
    ['memory', () => memoryStore()],
    ['Redis', inRedis],
  ])('limits in %s, each route with options of its own apart', async (_name, make) => {
    const { ask, statuses } = await open({ max: 2, timeWindow: 60_000 }, make());

    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429]);
    expect(await statuses('/own', '/own')).toEqual([200, 429]);
    expect((await ask()).headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': '60',
    });
  });

  it('leaves routes of another scope to @sluice/fastify, until the last one has moved', async () => {
    const app = fastify();
    void app.register(async (old) => {
      await old.register(peer, { max: 1, store: fastifyStore({ store: memoryStore() }) });
      old.get('/old', () => 'good');
    });
    void app.register(async (moved) => {
      await moved.register(sluice, { limit: 1, window: '1m' });
      moved.get('/moved', () => 'good');
    });

    const { statuses } = await start(app);

    expect(await statuses('/old', '/old', '/moved', '/moved')).toEqual([200, 429, 200, 429]);
  });

  it('counts the hits that are denied: ban answers 403', async () => {
    const { statuses } = await open({ max: 1, ban: 1 });

    expect(await statuses('/', '/', '/', '/')).toEqual([200, 429, 403, 403]);
  });

  it('reads without counting', async () => {
    const app = makeApp({ max: 2, global: false }, memoryStore());
    const check = app.ready().then(() => (app as never as PeerDecorators).createRateLimit());
    app.get('/check', async (request) => {
      const limit = await check;
      return [
        await limit(request, { increment: false }),
        await limit(request),
        await limit(request, { increment: false }),
      ];
    });

    const { ask } = await start(app);
    const seen = JSON.parse((await ask('/check')).body) as readonly { readonly remaining: number }[];

    expect(seen.map(({ remaining }) => remaining)).toEqual([2, 1, 1]);
  });

  /** After how many milliseconds each request comes, and its status. */
  it.each<[string, PeerOptions, string]>([
    ['a window that later hits do not move', {}, '0: 200, 900: 429, 99: 429, 1: 200'],
    [
      'a whole window after the last hit',
      { continueExceeding: true },
      '0: 200, 900: 429, 999: 429, 999: 429, 1000: 200',
    ],
    ['one twice as long each time', { exponentialBackoff: true }, '0: 200, 0: 429, 999: 429, 1999: 429, 4000: 200'],
  ])('has %s: %j', async (_title, options, steps) => {
    const clock = fakeClock();
    const { ask } = await open({ max: 1, timeWindow: 1000, ...options }, memoryStore({ clock }));

    expect(await play(steps, clock, async () => (await ask()).status)).toBe(steps);
  });

  it('tells in Redis how long a longer window still is', async () => {
    const store = new (fastifyStore({ store: inRedis(), name: 'backoff' }))({ exponentialBackoff: true });
    const hit = (): Promise<unknown> =>
      new Promise((resolve) => {
        const told: FastifyStoreCallback = (error, result) => {
          resolve(error ?? [result?.current, result?.ttl]);
        };
        store.incr('a', told, 60_000, 1);
      });

    expect([await hit(), await hit(), await hit()]).toEqual([
      [1, 60_000],
      [2, 60_000],
      [3, 120_000],
    ]);
  });

  it.each([
    [false, 500],
    [true, 200],
  ])('that fails: skipOnError %s answers %d', async (skipOnError, status) => {
    const store: Store = { source: 'redis', perform: () => Promise.reject(new Error('gone')) };

    expect(await (await open({ max: 1, skipOnError }, store)).statuses('/')).toEqual([status]);
  });
});

describe('a storage for @nestjs/throttler', () => {
  /** By a throttler of 2 in a second: after how many milliseconds each hit comes, the hits, and seconds of a block. */
  it.each([
    ['as long as the window', 1000, '0: 1/0, 0: 2/0, 0: 3/1, 500: 3/1, 500: 1/0, 0: 2/0, 0: 3/1'],
    ['longer than it', 3000, '0: 1/0, 0: 2/0, 0: 3/3, 1500: 3/2, 1500: 1/0, 0: 2/0, 0: 3/3'],
    ['shorter than it', 400, '0: 1/0, 0: 2/0, 0: 3/1, 200: 3/1, 200: 1/0, 0: 2/0, 0: 3/1'],
    ['0: for the rest of the window', 0, '0: 1/0, 0: 2/0, 0: 3/1, 999: 3/1, 1: 1/0'],
  ])('blocks, and begins again after it: %s', async (_title, blockDuration, steps) => {
    const clock = fakeClock();
    const storage = new NestStorage({ store: memoryStore({ clock }) });
    const hit = async (): Promise<string> => {
      const { totalHits, timeToBlockExpire } = await storage.increment('key', 1000, 2, blockDuration, 'default');
      return `${String(totalHits)}/${String(timeToBlockExpire)}`;
    };

    expect(await play(steps, clock, hit)).toBe(steps);
  });

  it('counts keys and throttlers apart', async () => {
    const storage = new NestStorage();
    const hit = async (key: string, name: string): Promise<readonly unknown[]> => {
      const { totalHits, isBlocked, timeToExpire } = await storage.increment(key, 60_000, 1, 60_000, name);
      return [totalHits, isBlocked, timeToExpire];
    };

    expect(await hit('a', 'short')).toEqual([1, false, 60]);
    expect(await hit('b', 'short')).toEqual([1, false, 60]);
    expect(await hit('a', 'two words')).toEqual([1, false, 60]);
    expect(await hit('a', 'short')).toEqual([2, true, 60]);
  });

  it('goes on in memory while the store fails, if it says so: also for a block that takes a second call', async () => {
    const store = { source: 'redis', perform: () => Promise.reject(new Error('gone')) } as const;
    const storage = new NestStorage({ store, onStoreError: 'local' });
    const hit = (): Promise<unknown> => storage.increment('key', 60_000, 1, 1_000, 'default');

    expect([await hit(), await hit()]).toMatchObject([{ isBlocked: false }, { isBlocked: true, timeToBlockExpire: 1 }]);
    await expect(new NestStorage({ store }).increment('key', 1, 1, 1, 'default')).rejects.toThrow('gone');
  });
});
