import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Policy,
  type RedisClient,
} from '@sluice/old-core';
import { general } from '@sluice/old-core/spi';
import { PRODUCTION_LINE, TEST_LINE, testGeneral, useRedis } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const strict = { shared: true, onStoreError: 'throw', timeoutMs: 60_000 } as const;
const serverMs = async (): Promise<number> => {
  const [seconds, micros] = await redis.admin.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
};

describe('the test build of the script', () => {
  it('differs from the production text in one line alone', () => {
    const production = general.source.split('\n');
    const test = testGeneral().source.split('\n');

    const differing = production.flatMap((line, i) => (line === test[i] ? [] : [[line, test[i]]]));

    expect(test).toHaveLength(production.length);
    expect(differing).toEqual([[PRODUCTION_LINE, TEST_LINE]]);
  });
});

describe('the production script', () => {
  it('asks the server for the time, once', () => {
    expect(general.source.split('"TIME"')).toHaveLength(2);
    expect(general.source.split('redis.call(').map((call) => call.slice(0, 6))).toEqual(
      expect.arrayContaining(['"TIME"', '"SET",', '"DEL",']),
    );
  });

  it('takes no instant from a caller', async () => {
    const client: RedisClient = {
      evalsha: (sha1, keys, args) => redis.client.evalsha(sha1, keys.length, ...keys, ...args, '1795262400250'),
      eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args, '1795262400250'),
    };
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 5, window: '1m' }),
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });
    const before = await serverMs();

    const { atMs } = await limiter.consume('key');

    expect(atMs).toBeGreaterThanOrEqual(before);
    expect(atMs).toBeLessThanOrEqual(await serverMs());
  });

  it('tells decisions the time of the server, in whole milliseconds', async () => {
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 5, window: '1m' }),
      store: redisStore(redis.client, { prefix: 'sluice' }),
      ...strict,
    });
    const before = await serverMs();

    const { atMs, source } = await limiter.consume('key');

    expect(source).toBe('redis');
    expect(Number.isSafeInteger(atMs)).toBe(true);
    expect(atMs).toBeGreaterThanOrEqual(before);
    expect(atMs).toBeLessThanOrEqual(await serverMs());
  });

  it.each<Policy>([
    fixedWindow({ limit: 5, window: '10s' }),
    fixedWindow({ limit: 5, window: '1h', align: 'clock' }),
    slidingWindow({ limit: 5, window: '30d' }),
    tokenBucket({ capacity: 5, refill: 3, every: '7s' }),
    tokenBucket({ capacity: 5, refill: 1, every: '1d', overdraft: 3 }),
    tokenBucket({ capacity: 5, refill: 2, every: '1m', mode: 'interval' }),
  ])('law 6: writes with every key an expiry, not before its reset nor long after, for %j', async (policy) => {
    const limiter = createLimiter({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), ...strict });

    for (let i = 0; i < 3; i++) {
      const { atMs, resetAfterMs, policies } = await limiter.consume('key');
      const [key = ''] = await redis.admin.keys('*');
      const expireAtMs = await redis.admin.pexpiretime(key);

      expect(expireAtMs).toBeGreaterThanOrEqual(atMs + resetAfterMs);
      expect(expireAtMs).toBeLessThanOrEqual(atMs + resetAfterMs + Math.max(60_000, policies[0]?.windowMs ?? 0));
    }
  });

  it('keeps a blocked key until the block ends, and a window longer in case the clock steps back', async () => {
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 5, window: '1s' }),
      store: redisStore(redis.client, { prefix: 'sluice' }),
      ...strict,
    });
    await limiter.block('key', '1h');
    const [key = ''] = await redis.admin.keys('*');

    const { atMs, retryAfterMs } = await limiter.consume('key');

    expect(await redis.admin.pexpiretime(key)).toBe(atMs + (retryAfterMs ?? 0) + 1_000);
  });
});

describe('a lone decision', () => {
  const policies: readonly Policy[] = [
    fixedWindow({ limit: 999_999_999_999_999, window: '30d' }),
    slidingWindow({ limit: 999_999_999_999_999, window: '1h' }),
    tokenBucket({ capacity: 1_000_000_007, refill: 1_000_003, every: '7s', overdraft: 999_983 }),
    tokenBucket({ capacity: 1_000_000_007, refill: 3, every: '7s', mode: 'interval' }),
    leakyBucket({ limit: 7, window: '1m', maxDelay: '11s' }),
  ];

  it.each(policies)('is one argument, and one text, for %j', async (policy) => {
    const calls: { args: readonly string[]; reply: unknown }[] = [];
    const client: RedisClient = {
      evalsha: async (sha1, keys, args) => {
        const reply: unknown = await redis.client.evalsha(sha1, keys.length, ...keys, ...args);
        calls.push({ args, reply });
        return reply;
      },
      eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
    };
    const limiter = createLimiter({ policy, store: redisStore(client, { prefix: 'sluice', check: false }), ...strict });
    await limiter.consume('first');

    const { atMs } = await limiter.consume('key');

    expect(calls.map(({ args }) => args.length)).toEqual(calls.map(() => 1));
    expect(calls.at(-1)?.reply).toBe(`${String(atMs)}\n`);
  });

  it.each(policies)('has the numbers of its policy exactly, as a batch has: %j', async (policy) => {
    const store = redisStore(redis.client, { prefix: 'sluice', check: true });
    const limiter = createLimiter({ policy, store, ...strict });

    const lone = await limiter.consume('lone');
    const together = await Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)));

    expect(together.map(({ remaining }) => remaining)).toEqual([lone, lone, lone].map(({ remaining }) => remaining));
    expect(together.map(({ limit }) => limit)).toEqual([lone, lone, lone].map(({ limit }) => limit));
    expect((await limiter.consume('lone')).remaining).toBeLessThanOrEqual(lone.remaining);
  });

  it('is told why a value cannot be read, and the next one on the same connection is decided', async () => {
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const limiter = createLimiter({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), ...strict });
    await limiter.consume('key');
    const [key = ''] = await redis.admin.keys('*');
    await redis.admin.set(key, 'line\n1795262400250000001');

    await expect(limiter.consume('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN' });
    expect((await limiter.consume('other')).remaining).toBe(4);
  });
});

describe('a lone decision under a limit of 0, which denies before the value is read', () => {
  it.each(['-', '-5:5', '-ERR something', '-NOPERM this user has no permissions'])(
    'takes no value of others for a line that says why it cannot be read: %j',
    async (value) => {
      const replies: unknown[] = [];
      const client: RedisClient = {
        evalsha: async (sha1, keys, args) => {
          const reply: unknown = await redis.client.evalsha(sha1, keys.length, ...keys, ...args);
          replies.push(reply);
          return reply;
        },
        eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
      };
      const policy = fixedWindow({ limit: 0, window: '1h' });
      const limiter = createLimiter({
        name: 'none',
        policy,
        store: redisStore(client, { prefix: 'sluice', check: false }),
        ...strict,
      });
      await limiter.consume('first'); // so that the server has the script
      await redis.admin.set('sluice:{key}:none:2f', value);

      await expect(limiter.consume('key')).rejects.toMatchObject({
        code: 'SLUICE_STORE_KEY_FOREIGN',
        message: expect.not.stringContaining(value.slice(1) || '--') as unknown,
      });
      expect(replies.at(-1)).toMatch(/^\d+\n-not a value of this layout$/);
      expect(await redis.admin.get('sluice:{key}:none:2f')).toBe(value);
    },
  );
});

describe('a server that has forgotten the script', () => {
  const policy = fixedWindow({ limit: 1000, window: '1h' });

  it('is sent it in full within the same call, which counts once', async () => {
    const limiter = createLimiter({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), ...strict });
    await limiter.consume('key');
    await redis.admin.script('FLUSH');

    const { remaining } = await limiter.consume('key');

    expect(remaining).toBe(998);
  });

  it('neither loses nor doubles any of many calls on their way', async () => {
    const limiter = createLimiter({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), ...strict });
    await redis.admin.script('FLUSH');

    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume('key')));

    expect(new Set(decisions.map(({ remaining }) => remaining)).size).toBe(200);
    expect((await limiter.peek('key')).remaining).toBe(800);
  });
});
