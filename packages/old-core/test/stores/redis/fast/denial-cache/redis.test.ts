import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type RedisClient,
} from '@sluice/old-core';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();

const limiters: { close(): Promise<void> }[] = [];
const clients: Redis[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  for (const client of clients.splice(0)) client.disconnect();
});
beforeEach(async () => {
  await redis.admin.flushall();
});

const two = fixedWindow({ limit: 2, window: '1h' });
const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;

/** A limiter on a store of its own, as in a process of its own. */
function limiterOf(options: Partial<LimiterOptions> = {}, client: RedisClient | Redis = redis.client): Limiter {
  const store = redisStore(client, { prefix: 'sluice' });
  const limiter = createLimiter({ policy: two, store, ...strict, ...options } as LimiterOptions) as Limiter;
  limiters.push(limiter);
  return limiter;
}

/** One whose key has been denied. */
async function exhausted(options: Partial<LimiterOptions> = {}, client?: RedisClient | Redis): Promise<Limiter> {
  const limiter = limiterOf(options, client);
  await limiter.consume('key', 2);
  await limiter.consume('key');
  return limiter;
}

/** How many scripts the server runs meanwhile. */
async function callsDuring(work: () => Promise<unknown>): Promise<number> {
  await redis.admin.config('RESETSTAT');
  await work();
  const stats = await redis.admin.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

describe('a key that was denied', () => {
  it('is denied from then on without a call', async () => {
    const limiter = await exhausted({ denialCache: { maxAge: '1m' } }); // longer than a busy machine takes
    const decisions: Decision[] = [];

    const calls = await callsDuring(async () => {
      for (let i = 0; i < 100; i++) decisions.push(await limiter.consume('key'));
    });

    expect(calls).toBe(0);
    expect(new Set(decisions.map(({ source, outcome, allowed }) => [source, outcome, allowed].join()))).toEqual(
      new Set(['cache,denied,false']),
    );
  });

  it('is told to wait long enough, and no instant that has not come', async () => {
    const limiter = await exhausted();
    const asking = limiterOf({ denialCache: false });

    const known = await limiter.consume('key');
    const asked = await asking.consume('key');

    expect(known.atMs).toBeLessThanOrEqual(asked.atMs);
    expect(known.atMs + (known.retryAfterMs as number)).toBe(asked.atMs + (asked.retryAfterMs as number));
    expect(known.atMs + known.resetAfterMs).toBe(asked.atMs + asked.resetAfterMs);
    const { outcome, policy, cost, limit, remaining, delayMs } = known;
    expect(asked).toMatchObject({ allowed: false, outcome, policy, cost, limit, remaining, delayMs });
    expect(known.policies).toHaveLength(1);
    expect(asked.source).toBe('redis');
  });

  it('is denied at every cost by what its state says of that', async () => {
    const limiter = limiterOf({ policy: fixedWindow({ limit: 10, window: '1h' }) });
    await limiter.consume('key', 7);
    await limiter.consume('key', 4);

    const larger = await limiter.consume('key', 5);
    const never = await limiter.consume('key', 11);
    const fits = await limiter.consume('key', 3);

    expect([larger.source, larger.allowed, larger.remaining]).toEqual(['cache', false, 3]);
    expect([never.source, never.allowed, never.retryAfterMs]).toEqual(['cache', false, null]);
    expect([fits.source, fits.allowed]).toEqual(['redis', true]);
  });

  it('is peeked at without a call too, where it would be denied', async () => {
    const limiter = await exhausted();
    const seen: Decision[] = [];

    const calls = await callsDuring(async () => seen.push(await limiter.peek('key')));

    expect(calls).toBe(0);
    expect(seen).toMatchObject([{ allowed: false, outcome: 'denied', source: 'cache' }]);
    expect(await limiter.peek('key', 0)).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('has the policies of a list all told', async () => {
    const policy = [
      { ...two, name: 'hourly' },
      tokenBucket({ name: 'steady', capacity: 9, refill: 1, every: '1d' }),
      slidingWindow({ name: 'burst', limit: 1, window: '1d' }),
    ];
    const limiter = limiterOf({ policy });
    await limiter.consume('key');
    const asked = await limiter.consume('key');

    const known = await limiter.consume('key');

    expect([asked.source, known.source]).toEqual(['redis', 'cache']);
    expect(known.policies.map(({ name, allowed, remaining }) => [name, allowed, remaining])).toEqual([
      ['hourly', true, 1],
      ['steady', true, 8],
      ['burst', false, 0],
    ]);
    expect(known.policy).toBe(asked.policy);
  });

  it('has nothing to give back', async () => {
    const limiter = await exhausted();
    const known = await limiter.consume('key');

    const calls = await callsDuring(() => limiter.refund(known));

    expect([known.source, calls]).toEqual(['cache', 0]);
  });

  it('is denied while Redis is away, and others by what stands in for it', async () => {
    let isAway = false;
    const client: RedisClient = {
      evalsha: (sha1, keys, args) =>
        isAway ? Promise.reject(new Error('ECONNREFUSED')) : redis.client.evalsha(sha1, keys.length, ...keys, ...args),
      eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
    };
    const limiter = await exhausted({ onStoreError: 'local', denialCache: { maxAge: '1h' } }, client);
    isAway = true;

    const other = await limiter.consume('other');
    const known = await limiter.consume('key');

    expect([other.source, other.allowed]).toEqual(['local', true]);
    expect([known.source, known.allowed]).toEqual(['cache', false]);
  });
});

describe('what this process does itself', () => {
  it('is known at once: a reset', async () => {
    const limiter = await exhausted({ denialCache: { maxAge: '1h' } });

    await limiter.reset('key');

    expect(await limiter.consume('key')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('is known at once: a refund, a settlement, a cancelled reservation', async () => {
    const limiter = limiterOf({ denialCache: { maxAge: '1h' } });
    const taken = await limiter.consume('key', 2);
    expect((await limiter.consume('key')).allowed).toBe(false);
    await limiter.refund(taken);
    const reserved = await limiter.reserve('key', 2);
    expect((await limiter.consume('key')).allowed).toBe(false);
    await reserved.settle(1);
    const rest = await limiter.reserve('key', 1);
    expect((await limiter.consume('key')).allowed).toBe(false);
    await rest.cancel();

    expect((await limiter.consume('key')).allowed).toBe(true);
    expect([taken, reserved.decision, rest.decision].every(({ allowed }) => allowed)).toBe(true);
  });

  it('is known at once: block and unblock', async () => {
    const limiter = await exhausted({ denialCache: { maxAge: '1h' } });
    await limiter.block('key', '2h');
    const first = await limiter.consume('key');
    const blocked = await limiter.consume('key');
    await limiter.unblock('key');
    await limiter.reset('key');

    expect([first.source, first.outcome]).toEqual(['redis', 'blocked']);
    expect([blocked.source, blocked.outcome]).toEqual(['cache', 'blocked']);
    expect(blocked.retryAfterMs).toBeGreaterThan(3_600_000);
    expect((await limiter.consume('key')).allowed).toBe(true);
  });

  it('is known to another limiter that counts together with it', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice' });
    const limiter = await exhausted({ store, shared: true, denialCache: { maxAge: '1h' } });
    const other = limiterOf({ store, shared: true, denialCache: false });

    await other.reset('key');

    expect((await limiter.consume('key')).allowed).toBe(true);
  });

  it('is not forgotten over a denial that was asked for before it, and is heard of after', async () => {
    let hold: Promise<void> | undefined;
    const client: RedisClient = {
      async evalsha(sha1, keys, args) {
        const reply = redis.client.evalsha(sha1, keys.length, ...keys, ...args);
        await hold;
        return reply;
      },
      eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
    };
    const limiter = limiterOf({ denialCache: { maxAge: '1h' } }, client);
    await limiter.consume('key', 2);
    let release = (): void => {};
    hold = new Promise((resolve) => (release = resolve));
    const denied = limiter.consume('key');
    await new Promise(setImmediate); // sent, and its reply held
    hold = undefined;
    await limiter.reset('key');
    release();

    expect((await denied).allowed).toBe(false);
    expect((await limiter.consume('key')).allowed).toBe(true);
  });
});

describe('what another process does', () => {
  const reset = (): Promise<unknown> => redis.admin.del('sluice:{key}:default:2f');

  it('is heard of after the age', async () => {
    const limiter = await exhausted({ denialCache: { maxAge: '150ms' } });

    expect(await reset()).toBe(1);

    await until('the key is allowed', async () => (await limiter.consume('key')).allowed);
  });

  it('is not heard of before, where no request is made', async () => {
    const limiter = await exhausted({ denialCache: { maxAge: '1h' } });

    expect(await reset()).toBe(1);

    expect(await limiter.consume('key')).toMatchObject({ allowed: false, source: 'cache' });
    expect((await limiterOf({}).consume('key')).allowed).toBe(true);
  });
});

describe('what this process does through another store over the same Redis', () => {
  it('is known at once', async () => {
    const client = new Redis(redis.server.storeUrl);
    clients.push(client);
    const limiter = await exhausted({ denialCache: { maxAge: '1h' } });
    const other = limiterOf({}, client);

    await other.reset('key');

    expect((await limiter.consume('key')).allowed).toBe(true);
  });
});

describe('a request of several limits', () => {
  const limits = [
    { name: 'per-ip', policy: two },
    { name: 'per-user', policy: fixedWindow({ limit: 9, window: '1h' }) },
  ] as const;

  it('is denied here where a state of each is known', async () => {
    const limiter = createLimiter({ limits, store: redisStore(redis.client, { prefix: 'sluice' }), ...strict });
    limiters.push(limiter);
    const ann = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    const bob = { 'per-ip': '192.0.2.1', 'per-user': 'bob' };
    await limiter.consume(ann, 2);

    const sources = [];
    for (const keys of [ann, ann, bob, bob]) {
      const { source, policies } = await limiter.consume(keys);
      sources.push([source, ...policies.map(({ remaining }) => remaining)]);
    }

    expect(sources).toEqual([
      ['redis', 0, 7],
      ['cache', 0, 7],
      ['redis', 0, 9],
      ['cache', 0, 9],
    ]);
  });
});

describe('never kept', () => {
  it('are denials that are counted', async () => {
    const escalation = escalate({ after: 3, block: '1h', decay: '2h' });
    const limiter = await exhausted({ escalate: escalation });

    const outcomes = [await limiter.consume('key'), await limiter.consume('key')].map(({ outcome }) => outcome);

    expect(outcomes).toEqual(['denied', 'blocked']);
  });

  it('are denials for want of a slot', async () => {
    const limiter = limiterOf({ policy: concurrency({ limit: 1, ttl: '1m' }) }, redis.client);
    const elsewhere = limiterOf({ policy: concurrency({ limit: 1, ttl: '1m' }) }, redis.client);
    const held = await elsewhere.acquire('key');
    expect((await limiter.acquire('key')).decision.allowed).toBe(false);

    await held.release();

    expect((await limiter.acquire('key')).decision.allowed).toBe(true);
  });

  it('is anything with denialCache: false', async () => {
    const limiter = await exhausted({ denialCache: false });

    const calls = await callsDuring(async () => {
      for (let i = 0; i < 5; i++) await limiter.consume('key');
    });

    expect(calls).toBe(5);
  });
});

describe('a flood of denied keys', () => {
  it('is remembered no further than maxKeys, those that asked last', async () => {
    const limiter = limiterOf({
      policy: fixedWindow({ limit: 1, window: '1h' }),
      denialCache: { maxAge: '1h', maxKeys: 10 },
    });
    const keys = Array.from({ length: 40 }, (_, i) => `key-${String(i)}`);
    const sources = [];
    for (const key of keys) {
      await limiter.consume(key, 2); // can never be had, and nothing is taken
      sources.push((await limiter.consume('key-0', 2)).source);
    }

    for (const key of ['key-0', ...keys.slice(-9)]) sources.push((await limiter.consume(key, 2)).source);
    const forgotten = await limiter.consume('key-5', 2);

    expect(new Set(sources)).toEqual(new Set(['cache']));
    expect(forgotten.source).toBe('redis');
  });
});
