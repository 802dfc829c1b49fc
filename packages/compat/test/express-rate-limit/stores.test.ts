import { describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  rateLimit,
  type IncrementCallback,
  type Options,
  type Store,
} from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { memoryStore } from '@sluice/old-core';
import { keptLog, served } from './applications.ts';

const options = { windowMs: 60_000 } as Options;

describe.each<[string, () => Store]>([
  ['MemoryStore', () => new MemoryStore()],
  ['ExpressStore', () => new ExpressStore({ store: memoryStore({ clock: Date }) })],
])('%s', (_name, made) => {
  it('counts, shows, takes back and forgets the hits of a key', async () => {
    const store = made();
    await store.init?.(options);

    expect(await store.get?.('a')).toBeUndefined();
    expect((await store.increment('a')).totalHits).toBe(1);
    expect((await store.increment('a')).totalHits).toBe(2);
    expect((await store.increment('b')).totalHits).toBe(1);
    await store.decrement('a');
    expect(await store.get?.('a')).toMatchObject({ totalHits: 1, resetTime: expect.any(Date) });
    await store.resetKey('a');
    expect(await store.get?.('a')).toBeUndefined();
    expect((await store.increment('b')).totalHits).toBe(2);
    await store.shutdown?.();
  });

  it('never counts below 0', async () => {
    const store = made();
    await store.init?.(options);
    await store.increment('a');
    await store.decrement('a');
    await store.decrement('a');

    expect((await store.increment('a')).totalHits).toBe(1);
    await store.shutdown?.();
  });

  it('begins a window at the first hit, which later hits do not move', async () => {
    jest.useFakeTimers({
      now: 1_900_000_000_000,
      doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'],
    });
    const store = made();
    await store.init?.(options);
    const first = await store.increment('a');
    jest.advanceTimersByTime(59_999);
    const last = await store.increment('a');
    jest.advanceTimersByTime(1);
    const next = await store.increment('a');
    jest.useRealTimers();

    expect(first.resetTime?.getTime()).toBe(1_900_000_060_000);
    expect(last).toEqual({ totalHits: 2, resetTime: first.resetTime });
    expect(next).toEqual({ totalHits: 1, resetTime: new Date(1_900_000_120_000) });
    await store.shutdown?.();
  });
});

describe('a MemoryStore', () => {
  it('forgets all keys by resetAll, and by shutdown', async () => {
    const store = new MemoryStore();
    store.init(options);
    await store.increment('a');
    await store.resetAll();
    expect((await store.increment('a')).totalHits).toBe(1);
    store.shutdown();
    expect((await store.increment('a')).totalHits).toBe(1);
  });

  it('can be extended', async () => {
    class Tenfold extends MemoryStore {
      override async increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }> {
        const { totalHits, resetTime } = await super.increment(key);
        return { totalHits: totalHits * 10, resetTime };
      }
    }
    const running = await served([rateLimit({ limit: 15, store: new Tenfold() })]);

    const statuses = [(await running.get()).status, (await running.get()).status];
    await running.close();

    expect(statuses).toEqual([200, 429]);
  });

  it('denies by more different limits than it keeps policies of', async () => {
    const limits = Array.from({ length: 700 }, (_, i) => i % 350);
    const limit = rateLimit({
      validate: false,
      limit: (request) => Number(request.query['limit']),
      keyGenerator: (request) => request.query['limit'] as string,
      handler: (_request, response) => void response.status(429).end(),
    });
    const running = await served([limit]);
    const statuses: (number | undefined)[] = [];
    for (const n of limits) statuses.push((await running.get(`/?limit=${String(n)}`)).status);
    await running.close();

    // Only the second requests of the keys with 0 and 1 are over their limits.
    expect(statuses.flatMap((status, i) => (status === 429 ? [i] : []))).toEqual([0, 350, 351]);
  });
});

describe('a store of others', () => {
  it('is called as express-rate-limit calls it', async () => {
    const calls: unknown[][] = [];
    const store = new Proxy({} as Store, {
      get: (_target, name) =>
        name === 'localKeys' || name === 'prefix' || name === 'constructor'
          ? undefined
          : (...given: unknown[]) => {
              calls.push([name, ...given.map((value) => (typeof value === 'object' ? 'options' : value))]);
              return name === 'increment' ? { totalHits: 1, resetTime: new Date(Date.now() + 60_000) } : undefined;
            },
      has: () => true,
    });
    const limit = rateLimit({ store, keyGenerator: () => 'key', skipSuccessfulRequests: true, validate: false });
    const running = await served([limit]);
    await running.get();
    await running.close();
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
    const store = {
      incr: (_key: string, callback: IncrementCallback) => {
        callback(undefined, ++hits, undefined);
      },
      decrement: () => undefined,
      resetKey: () => undefined,
    };
    const limit = rateLimit({ store, limit: 1 });
    const running = await served([limit]);

    const statuses = [(await running.get()).status, (await running.get()).status];
    await running.close();

    expect(statuses).toEqual([200, 429]);
    expect(() => limit.getKey('key')).toThrow('get');
  });

  it.each([
    [false, 500],
    [true, 200],
  ])('that fails: passOnStoreError %s answers %d', async (passOnStoreError, status) => {
    const logger = keptLog();
    const store = {
      increment: () => Promise.reject(new Error('gone')),
      decrement: () => undefined,
      resetKey: () => undefined,
    };
    const running = await served([rateLimit({ store, passOnStoreError, logger })]);

    const answer = await running.get();
    await running.close();

    expect(answer.status).toBe(status);
    expect(logger.codes).toEqual(passOnStoreError ? ['error gone'] : []);
  });

  it.each<[string, () => number | Promise<number>]>([
    [
      'throws',
      () => {
        throw new Error('no plan');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no plan'))],
  ])('is not what fails where limit %s: passOnStoreError does not allow the request', async (_title, limit) => {
    const store = new ExpressStore({ store: memoryStore() });
    const running = await served([rateLimit({ store, limit, passOnStoreError: true, logger: keptLog() })]);

    const answer = await running.get();
    await running.close();

    expect([answer.status, answer.body]).toEqual([500, 'no plan']);
  });

  it('in memory decides in the same tick, and returns a promise all the same, as express-rate-limit does', async () => {
    const limit = rateLimit({ keyGenerator: () => 'a', legacyHeaders: false });
    let passed = 0;

    const returned: unknown = limit({} as never, {} as never, () => passed++);

    expect(passed).toBe(1);
    expect(returned).toBeInstanceOf(Promise);
    expect(await returned).toBeUndefined();
  });

  it('returns a promise that does not reject where a key generator throws: `next` has the error', async () => {
    const error = new Error('no key');
    const keyGenerator = (): never => {
      throw error;
    };
    const given: unknown[] = [];

    const returned: unknown = rateLimit({ keyGenerator })({} as never, {} as never, (one: unknown) => given.push(one));

    expect(returned).toBeInstanceOf(Promise);
    expect(await returned).toBeUndefined();
    expect(given).toEqual([error]);
  });

  it.each<[string, () => Store, { increment: Store['increment'] }]>([
    ['MemoryStore', () => new MemoryStore(), MemoryStore.prototype],
    ['ExpressStore', () => new ExpressStore({ store: memoryStore() }), ExpressStore.prototype],
  ])('%s may be spied on by its prototype', async (_name, made, prototype) => {
    const limit = rateLimit({ keyGenerator: () => 'a', legacyHeaders: false, store: made() });
    const spy = jest.spyOn(prototype, 'increment');
    try {
      await new Promise((resolve) => void limit({} as never, {} as never, resolve));
      expect(spy).toHaveBeenCalledTimes(1);
    } finally {
      spy.mockRestore();
    }
  });

  it.each<[string, () => Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('init');
      },
    ],
    ['rejects', () => Promise.reject(new Error('init'))],
  ])('whose init %s is told of, and used', async (_title, init) => {
    const logger = keptLog();
    const running = await served([rateLimit({ store: Object.assign(new MemoryStore(), { init }), logger })]);

    const answer = await running.get();
    await running.close();

    expect(answer.status).toBe(200);
    expect(logger.codes).toEqual(['error init']);
  });
});
