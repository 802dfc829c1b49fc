import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient, createClientPool } from 'redis';
import { createLimiter, fixedWindow, redisStore, slidingWindow, type Limiter, type LimiterOptions } from '@sluice/core';

const search = fixedWindow({ limit: 100, window: '1m' });
const login = fixedWindow({ limit: 5, window: '15m' });
const TAKEN = expect.objectContaining({ code: 'SLUICE_LIMITER_NAME_TAKEN', field: 'name' });

const emitWarning = jest.spyOn(process, 'emitWarning');
beforeEach(() => {
  emitWarning.mockReset().mockImplementation(() => undefined);
});
const warnings = (): unknown[] => emitWarning.mock.calls.map(([, about]) => (about as { code?: string }).code);

const limiters: Limiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});
const limit = (options: Partial<LimiterOptions>): Limiter => {
  const limiter = createLimiter({ policy: search, ...options } as LimiterOptions) as Limiter;
  limiters.push(limiter);
  return limiter;
};

/** Each test has a database of its own, so that a warning that was given once is given again. */
let db = 0;
const clients = {
  'two clients of ioredis': () => new Redis({ port: 1, db, lazyConnect: true }),
  'two clients of node-redis': () => createClient({ url: `redis://localhost:1/${String(db)}` }),
  'one of each in turn': () => {
    turn++;
    const url = `redis://127.0.0.1:1/${String(db)}`;
    return turn % 2 === 0 ? new Redis(url, { lazyConnect: true }) : createClient({ url });
  },
};
let turn = 0;
beforeEach(() => {
  db++;
});

describe.each(Object.entries(clients))('limiters of one name on %s for one server and database', (_what, client) => {
  it('do not meet by accident: with other policies the second one is an error', () => {
    limit({ store: redisStore(client()) });

    expect(() => limit({ policy: login, store: redisStore(client()) })).toThrow(TAKEN);
    expect(() => limit({ policy: login, store: redisStore(client()) })).toThrow(
      /another store of this process with the keys of 127\.0\.0\.1:1\/\d+, prefix sluice already has a limiter named "default", with other policies/,
    );
    expect(warnings()).toEqual([]);
  });

  it('with the same policies share their budgets, and a warning says so once', () => {
    for (let i = 0; i < 3; i++) limit({ name: 'api', store: redisStore(client()) });

    expect(warnings()).toEqual(['SLUICE_LIMITER_NAME_SHARED']);
    expect(emitWarning.mock.calls[0]?.[0]).toMatch(/two limiters named "api" .* they share their budgets/);
  });

  it('share nothing when their policies are of other kinds', () => {
    limit({ store: redisStore(client()) });
    limit({ policy: slidingWindow({ limit: 5, window: '1m' }), store: redisStore(client()) });

    expect(warnings()).toEqual([]);
  });

  it('share on purpose when both say so, and only then', () => {
    limit({ store: redisStore(client()), shared: true });
    limit({ policy: login, store: redisStore(client()), shared: true });

    expect(warnings()).toEqual([]);
    expect(() => limit({ policy: login, store: redisStore(client()) })).toThrow(TAKEN);
  });

  it('are free of each other with names or prefixes of their own, and after the first is closed', async () => {
    const first = limit({ store: redisStore(client()) });
    limit({ name: 'login', policy: login, store: redisStore(client()) });
    limit({ policy: login, store: redisStore(client(), { prefix: 'shop' }) });
    await first.close();
    limit({ policy: login, store: redisStore(client()) });

    expect(warnings()).toEqual([]);
  });
});

it('limiters on one client are at one place, also where its server cannot be seen', () => {
  const pool = createClientPool({ url: 'redis://127.0.0.1:1' });
  limit({ store: redisStore(pool) });

  expect(() => limit({ policy: login, store: redisStore(pool) })).toThrow(TAKEN);
  limit({ policy: login, store: redisStore(createClientPool({ url: 'redis://127.0.0.1:1' })) });
});

it('another database or another prefix of the client is another place', () => {
  limit({ store: redisStore(new Redis({ port: 1, db: 100, lazyConnect: true })) });
  limit({ policy: login, store: redisStore(new Redis({ port: 1, db: 101, lazyConnect: true })) });
  limit({ policy: login, store: redisStore(new Redis({ port: 1, db: 100, lazyConnect: true, keyPrefix: 'shop:' })) });

  expect(warnings()).toEqual([]);
});

it('a name says where it is without the password', () => {
  expect(redisStore('redis://me:hunter2@redis.example:6380/2', { prefix: 'shop' }).place).toBe(
    'redis.example:6380/2, prefix shop',
  );
});
