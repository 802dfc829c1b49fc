import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/core';
import { encodeSubject } from '@sluice/core/internal';
import { testSeed, useRedis } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const limiter = (name: string, prefix?: string): Limiter =>
  createLimiter({
    name,
    policy: fixedWindow({ limit: 5, window: '1h' }),
    store: redisStore(redis.client, prefix === undefined ? {} : { prefix }),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

/** What Redis Cluster hashes: what stands between the first brace and the next closing one. */
const hashTag = (key: string): string => key.slice(key.indexOf('{') + 1, key.indexOf('}', key.indexOf('{')));

const AWKWARD = [
  'user-42',
  '{user}',
  '}{',
  '{}',
  'a}b',
  '{',
  '}',
  'a:b',
  'a}:other:1f',
  '#hash',
  '#',
  ' ',
  'with space',
  'tab\t',
  '\u0000',
  '\n',
  'é',
  'e\u0301',
  '日本語',
  '👩‍👩‍👧',
  '\ud800',
  '\udfff',
  '\u007f',
  '2001:db8::1',
  'x'.repeat(64),
  'x'.repeat(65),
  'x'.repeat(100_000),
  'é'.repeat(64),
  '%7B',
  '*',
  '?',
  '[a]',
  '"',
  '\\',
  '../..',
];

describe('the key of a subject', () => {
  it('is prefix, subject in braces, limiter, and the layout of its state', async () => {
    await limiter('orders').consume('user-42');

    expect(await redis.admin.keys('*')).toEqual(['sluice:{user-42}:orders:1f']);
  });

  it('holds the names and kinds of its policies, never their numbers', async () => {
    const policy = [
      fixedWindow({ name: 'burst', limit: 5, window: '1s' }),
      fixedWindow({ name: 'steady', limit: 100, window: '1h' }),
    ];
    await createLimiter({
      name: 'orders',
      policy,
      store: redisStore(redis.client),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    }).consume('user-42');

    expect(await redis.admin.keys('*')).toEqual(['sluice:{user-42}:orders:1f.burst,f.steady']);
  });

  it('stays in its hash tag and short, whatever the subject is', async () => {
    const some = limiter('tags');
    for (const subject of AWKWARD) await some.consume(subject);

    const keys = await redis.admin.keys('*');

    expect(keys).toHaveLength(AWKWARD.length);
    expect(keys.map(hashTag).filter((tag) => tag === '' || /[{}\s]/.test(tag))).toEqual([]);
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThanOrEqual('sluice:{}:tags:1f'.length + 64);
    expect(keys.filter((key) => !/^[\x21-\x7e]+$/.test(key))).toEqual([]);
  });

  it('counts every subject by itself', async () => {
    const some = limiter('apart');

    for (const subject of AWKWARD) expect((await some.consume(subject)).remaining).toBe(4);
  });

  it('is another for every other subject', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...AWKWARD),
      fc.string({ minLength: 60, maxLength: 70 }),
    );

    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(encodeSubject(a) === encodeSubject(b)).toBe(a === b);
        expect(encodeSubject(a).length).toBeLessThanOrEqual(64);
      }),
      { numRuns: 5_000, seed: testSeed(42) },
    );
  });

  it('is no subject’s key under another limiter or prefix', async () => {
    await limiter('one').consume('a');
    await limiter('two').consume('a');
    await limiter('one', 'sluice:other').consume('a');

    expect(await redis.admin.dbsize()).toBe(3);
  });
});
