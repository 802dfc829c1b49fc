import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  type DecisionMessage,
  type DenialCacheOptions,
  type RedisClient,
  type Limit,
} from '@sluice/old-core';
import { DenialCache, Invalidations, keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();
const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  await redis.admin.flushall();
});

describe('the option denialCache', () => {
  const bad: readonly (readonly [string, unknown])[] = [
    ['denialCache', 'yes'],
    ['denialCache', null],
    ['denialCache', 1000],
    ['denialCache.maxAge', { maxAge: 0 }],
    ['denialCache.maxAge', { maxAge: 'soon' }],
    ['denialCache.maxKeys', { maxKeys: 0 }],
    ['denialCache.maxKeys', { maxKeys: 1.5 }],
    ['ttl', { ttl: 5 }],
  ];
  it.each(bad)('is denied where %s cannot be used: %j', (field, denialCache) => {
    const options = { policy: fixedWindow({ limit: 1, window: '1s' }), denialCache: denialCache as DenialCacheOptions };

    expect(() => createLimiter(options)).toThrow(expect.objectContaining({ name: 'PolicyError', field }));
  });
});

describe('what is kept', () => {
  it('is of one limit, and says nothing of another with the same keys and other numbers', () => {
    const limitOf = (units: number): Limit => {
      const policies = namePolicies(fixedWindow({ limit: units, window: '1h' }), 'one');
      return { policies, keySuffix: keySuffixOf('one', policies) };
    };
    const [small, large] = [limitOf(2), limitOf(9)];
    const cache = new DenialCache(10, new Invalidations());
    const sent = { sentMs: performance.now(), sentDateMs: Date.now(), receivedMs: performance.now() };
    const states = [{ endMs: Date.now() + 3_600_000, used: 2 }];

    cache.remember({ limit: small, subject: 'key', cost: 1 }, { blockedUntilMs: 0, states }, Date.now(), sent);

    expect(cache.deny(small, 'key', 1)).toBeDefined();
    expect(cache.answerTo([{ limit: small, subject: 'key', cost: 1 }])).toBeDefined();
    expect(cache.deny(large, 'key', 8)).toBeUndefined();
    expect(cache.answerTo([{ limit: large, subject: 'key', cost: 8 }])).toBeUndefined();
  });

  it('is nothing of limits that are reserved on several nodes and given back', async () => {
    const client: RedisClient = {
      cluster: true,
      evalsha: (sha1, keys, args) => redis.client.evalsha(sha1, keys.length, ...keys, ...args),
      eval: (script, keys, args) => redis.client.eval(script, keys.length, ...keys, ...args),
    };
    const limits = [
      { name: 'per-ip', policy: fixedWindow({ limit: 1, window: '1h' }) },
      { name: 'per-user', policy: fixedWindow({ limit: 9, window: '1h' }) },
    ] as const;
    const limiter = createLimiter({ limits, store: redisStore(client, { prefix: 'sluice' }), ...strict });
    ends.push(() => limiter.close());
    const both = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };

    const sources = [];
    for (const keys of [both, both, both, { 'per-ip': '192.0.2.1' }, { 'per-ip': '192.0.2.1' }]) {
      sources.push((await limiter.consume(keys)).source);
    }

    expect(sources).toEqual(Array(5).fill('redis'));
  });

  it('is told of like every decision', async () => {
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 1, window: '1h' }),
      store: redisStore(redis.client, { prefix: 'sluice' }),
      ...strict,
    });
    ends.push(() => limiter.close());
    const told: string[] = [];
    const listen = (message: unknown): void => {
      const { op, decision } = message as DecisionMessage;
      told.push(`${op} ${decision.source} ${decision.outcome}`);
    };
    subscribe('sluice:decision', listen);

    for (let i = 0; i < 3; i++) await limiter.consume('key');
    await limiter.peek('key');
    unsubscribe('sluice:decision', listen);

    expect(told).toEqual([
      'consume redis allowed',
      'consume redis denied',
      'consume cache denied',
      'peek cache denied',
    ]);
  });
});
