import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { fastifyStore } from '@sluice/compat/stores';
import { memoryStore, redisStore, type Store } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import fastify, { type FastifyInstance } from 'fastify';
import { peer, type PeerDecorators, type PeerOptions } from '../fastify-peer.ts';
import { get, type Received } from '../get.ts';

const REAL = ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const;

function application(options: PeerOptions, store: Store = memoryStore({ clock: Date })): FastifyInstance {
  const app = fastify();

  app.register(peer, { ...options, store: fastifyStore({ store, timeoutMs: 60_000 }) });

  app.register((routes, _options, done) => {
    routes.get('/', () => 'good');
    routes.get('/own', { config: own }, () => 'good');
    done();
  });
  return app;
}

/** The options of the peer, which a route of this program has no type for. */
const own = { rateLimit: { max: 1, timeWindow: '1m' } } as never;

async function ask(app: FastifyInstance, path = '/'): Promise<Received> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return get((app.server.address() as AddressInfo).port, path, {});
}

async function statuses(app: FastifyInstance, path: string, count: number): Promise<readonly (number | undefined)[]> {
  const all: (number | undefined)[] = [];
  for (let i = 0; i < count; i++) all.push((await ask(app, path)).status);
  return all;
}

describe('a store for @fastify/rate-limit', () => {
  const redis = useRedis();
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each<[string, () => Store]>([
    ['memory', () => memoryStore()],
    ['Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
  ])('limits in %s, each route with options of its own apart', async (_name, made) => {
    const app = application({ max: 2, timeWindow: 60_000 }, made());

    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/own', 2)).toEqual([200, 429]);
    const denied = await ask(app);
    expect(denied.headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': '60',
    });
    await app.close();
  });

  it('counts the hits that are denied: ban answers 403', async () => {
    const app = application({ max: 1, ban: 1 });

    expect(await statuses(app, '/', 4)).toEqual([200, 429, 403, 403]);
    await app.close();
  });

  it('allows exactly max of many requests at once in Redis', async () => {
    const apps = [0, 1].map(() =>
      application(
        { max: 10, hook: 'preHandler', keyGenerator: () => 'many' },
        redisStore(redis.client, { prefix: 'sluice' }),
      ),
    );

    await Promise.all(apps.map((app) => ask(app, '/none')));

    const answers = await Promise.all(apps.flatMap((app) => Array.from({ length: 20 }, () => ask(app))));
    await Promise.all(apps.map((app) => app.close()));

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  it('in memory answers within the call', () => {
    const store = new (fastifyStore({ store: memoryStore() }))({});
    const counts: unknown[] = [];

    for (let i = 0; i < 2; i++) store.incr('a', (error, result) => counts.push(error ?? result?.current), 60_000, 1);

    expect(counts).toEqual([1, 2]);
  });

  it('reads without counting', async () => {
    const app = application({ max: 2, global: false });
    const check = app.ready().then(() => (app as never as PeerDecorators).createRateLimit());
    app.get('/check', async (request) => {
      const limit = await check;
      return [
        await limit(request, { increment: false }),
        await limit(request),
        await limit(request, { increment: false }),
      ];
    });

    const seen = JSON.parse((await ask(app, '/check')).body) as readonly { readonly remaining: number }[];
    await app.close();

    expect(seen.map(({ remaining }) => remaining)).toEqual([2, 1, 1]);
  });

  it.each<[string, PeerOptions, readonly (readonly [afterMs: number, status: number])[]]>([
    [
      'a window that later hits do not move',
      {},
      [
        [0, 200],
        [900, 429],
        [99, 429],
        [1, 200],
      ],
    ],
    [
      'continueExceeding: a whole window after the last hit',
      { continueExceeding: true },
      [
        [0, 200],
        [900, 429],
        [999, 429],
        [999, 429],
        [1000, 200],
      ],
    ],
    [
      'exponentialBackoff: twice as long each time',
      { exponentialBackoff: true },
      [
        [0, 200],
        [0, 429],
        [999, 429],
        [1999, 429],
        [4000, 200],
      ],
    ],
  ])('has %s', async (_title, options, steps) => {
    jest.useFakeTimers({
      now: 1_900_000_000_000,
      doNotFake: [...REAL, 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
    });
    const app = application({ max: 1, timeWindow: 1000, ...options });
    const seen: (readonly [number, number | undefined])[] = [];
    for (const [afterMs] of steps) {
      jest.setSystemTime(Date.now() + afterMs);
      seen.push([afterMs, (await ask(app)).status]);
    }
    await app.close();

    expect(seen).toEqual(steps);
  });

  it.each([
    [false, 500],
    [true, 200],
  ])('that fails: skipOnError %s answers %d', async (skipOnError, status) => {
    const store: Store = { source: 'redis', perform: () => Promise.reject(new Error('gone')) };
    const app = application({ max: 1, skipOnError }, store);

    expect((await ask(app)).status).toBe(status);
    await app.close();
  });
});
