import { describe, expect, it } from '@jest/globals';
import {
  MemoryStore,
  rateLimit,
  type IncrementCallback,
  type Options,
  type Store,
} from '@sluice/compat/express-rate-limit';
import { ExpressStore, fastifyStore, NestStorage } from '@sluice/compat/stores';
import { memoryStore, redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import { keepLog, useApplications } from './applications.ts';

const serve = useApplications();
const options = { windowMs: 60_000 } as Options;

describe('the stores for peers', () => {
  const store = memoryStore();
  it.each<[string, (options: never) => unknown]>([
    ['new ExpressStore', (given) => new ExpressStore(given)],
    ['fastifyStore', (given) => fastifyStore(given)],
    ['new NestStorage', (given) => new NestStorage(given)],
  ])('reject other options, and say what to write: %s', (name, make) => {
    const rejects = (given: unknown, message: string): void => {
      expect(() => make(given as never)).toThrow(message);
    };

    rejects(store, `${name} has no option "source"`);
    rejects({ store: 'redis://localhost' }, 'store must be memoryStore() or redisStore(url, ');
    rejects({ store, onStoreError: 'allow' }, `onStoreError of ${name} must be "throw" or "local", got "allow"`);
    rejects({ store, onstoreError: 'local' }, `${name} has no option "onstoreError"`);
    if (name === 'new NestStorage') return; // which has a memory of its own
    rejects({}, `${name} needs a store; write ${name}({ store: redisStore(`);
  });
});

it.each(['resetAll', 'shutdown'] as const)('MemoryStore forgets all keys by %s', async (name) => {
  const store = new MemoryStore();
  await store.increment('a');

  await store[name]();

  expect((await store.increment('a')).totalHits).toBe(1);
});

describe.each<[string, () => Store]>([
  ['MemoryStore', () => new MemoryStore()],
  ['ExpressStore', () => new ExpressStore({ store: memoryStore({ clock: Date }) })],
])('%s', (_name, make) => {
  it('counts, shows, takes back and forgets the hits of a key', async () => {
    const store = make();
    await store.init?.(options);

    expect(await store.get?.('a')).toBeUndefined();
    expect((await store.increment('a')).totalHits).toBe(1);
    expect((await store.increment('a')).totalHits).toBe(2);
    expect((await store.increment('b')).totalHits).toBe(1);
    await store.decrement('a');
    expect(await store.get?.('a')).toMatchObject({ totalHits: 1, resetTime: expect.any(Date) });
    await store.resetKey('a');
    expect(await store.get?.('a')).toBeUndefined();
    await store.shutdown?.();
  });

  it.each([[42], [undefined], [null], ['']])('counts the key %j, which JavaScript can give', async (key) => {
    const store = make();
    await store.increment(key as string);

    expect((await store.increment(key as string)).totalHits).toBe(2);
  });
});

describe('a store of others', () => {
  it('is called as express-rate-limit calls it', async () => {
    const calls: unknown[][] = [];
    const facts = ['localKeys', 'prefix', 'constructor'];
    const record =
      (name: string | symbol) =>
      (...given: unknown[]) => {
        calls.push([name, ...given.map((value) => (typeof value === 'object' ? 'options' : value))]);
        return name === 'increment' ? { totalHits: 1, resetTime: new Date(Date.now() + 60_000) } : undefined;
      };
    const store = new Proxy({} as Store, {
      get: (_target, name) => (facts.includes(String(name)) ? undefined : record(name)),
    });
    const limit = rateLimit({ store, keyGenerator: () => 'key', skipSuccessfulRequests: true, validate: false });
    const app = await serve([limit]);
    await app.ask();
    limit.resetKey('key');
    await limit.getKey('key');

    expect(calls).toEqual([
      ['init', 'options'],
      ['increment', 'key'],
      ['decrement', 'key'],
      ['resetKey', 'key'],
      ['get', 'key'],
    ]);
  });

  it('with callbacks is one', async () => {
    let hits = 0;
    const incr = (_key: string, callback: IncrementCallback): void => {
      callback(undefined, ++hits, undefined);
    };
    const limit = rateLimit({ store: { incr, decrement: () => undefined, resetKey: () => undefined }, limit: 1 });
    const app = await serve([limit]);

    expect(await app.statuses('/', '/')).toEqual([200, 429]);
    expect(() => limit.getKey('key')).toThrow('get');
  });

  it.each([
    [false, 500],
    [true, 200],
  ])('that fails: passOnStoreError %s answers %d', async (passOnStoreError, status) => {
    const logger = keepLog();
    const store = Object.assign(new MemoryStore(), { increment: () => Promise.reject(new Error('gone')) });
    const app = await serve([rateLimit({ store, passOnStoreError, logger })]);

    expect(await app.statuses('/')).toEqual([status]);
    expect(logger.codes).toEqual(passOnStoreError ? ['error gone'] : []);
  });

  it('whose init fails is reported, and used', async () => {
    const logger = keepLog();
    const store = Object.assign(new MemoryStore(), { init: () => Promise.reject(new Error('init')) });
    const app = await serve([rateLimit({ store, logger })]);

    expect(await app.statuses('/')).toEqual([200]);
    expect(logger.codes).toEqual(['error init']);
  });
});

describe('on Redis', () => {
  const redis = useRedis();
  const open = (name: string): ExpressStore =>
    new ExpressStore({ store: redisStore(redis.client, { prefix: 'sluice' }), name, timeoutMs: 60_000 });

  it('names keep limiters apart', async () => {
    const [first, second] = [open('first'), open('second')];
    await first.increment('key');

    expect((await first.increment('key')).totalHits).toBe(2);
    expect((await second.increment('key')).totalHits).toBe(1);
  });

  it('a hit is one call', async () => {
    const store = open('calls');
    await store.increment('key');
    await redis.admin.config('RESETSTAT');
    for (let i = 0; i < 5; i++) await store.increment('key');

    const stats = await redis.admin.info('commandstats');

    expect(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1]).toBe('5');
  });
});
