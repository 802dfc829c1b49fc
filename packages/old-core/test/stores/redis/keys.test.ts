import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Limiter, type Store } from '@sluice/old-core';
import { encodeSubject, hashTag, redisKey } from '@sluice/old-core/spi';
import { cases, testSeed, useRedis } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const limiter = (name: string, store: Store = redisStore(redis.client, { prefix: 'sluice' })): Limiter =>
  createLimiter({
    name,
    shared: true,
    policy: fixedWindow({ limit: 5, window: '1h' }),
    store,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

/** What Redis Cluster hashes: what stands between the first brace and the next closing one. */
const taggedPart = (key: string): string => key.slice(key.indexOf('{') + 1, key.indexOf('}', key.indexOf('{')));

const AWKWARD = [
  'user-42',
  '{user}',
  '}{',
  '{}',
  'a}b',
  '{',
  '}',
  'a:b',
  'a}:other:2f',
  '#hash',
  '#',
  ' ',
  'with space',
  'tab\t',
  '\u0000',
  '\n',
  '\r\n',
  'é',
  'e\u0301',
  'Å',
  '\u212b',
  'ﬁ',
  'fi',
  '日本語',
  '👩‍👩‍👧',
  '\ud800',
  '\ud801',
  '\udfff',
  '\ufffd',
  'a\ud800',
  'a\udfff',
  'a\ufffd',
  '\udc00\ud800',
  '\ud800\udc00',
  '\u007f',
  '\u202e',
  '2001:db8::1',
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(257),
  'x'.repeat(2_048),
  'x'.repeat(2_049),
  'x'.repeat(100_000),
  '日'.repeat(256),
  '日'.repeat(257),
  '#missing',
  encodeSubject('x'.repeat(257)),
  encodeSubject('#'),
  hashTag('{user}'),
  hashTag('\ud800'),
  '%7B',
  '*',
  '?',
  '[a]',
  '"',
  '\\',
  '../../..',
];

/** The key of what a caller limits, and what goes out for it. */
const keyOf = (subject: string): string => redisKey('sluice', encodeSubject(subject), ':tags:2f');
const bytesOf = (key: string): Buffer => Buffer.from(key, 'utf8');

const awkwardParts = fc.constantFrom('{', '}', '#', '\ud800', '\udc00', '\ufffd', 'é', 'e\u0301', '\u0000', 'a', ' ');
/** Any text, parts that make trouble, and what is about as long as a subject may be. */
const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...AWKWARD),
  fc.string({ unit: awkwardParts, maxLength: 3 }),
  fc.tuple(fc.integer({ min: 250, max: 260 }), awkwardParts).map(([length, part]) => part.repeat(length)),
  fc.constantFrom(...AWKWARD).map((text) => hashTag(encodeSubject(text))),
);

describe('the key of a subject', () => {
  it('is prefix, subject in braces, limiter, and the layout of its state', async () => {
    await limiter('orders').consume('user-42');

    expect(await redis.admin.keys('*')).toEqual(['sluice:{user-42}:orders:2f']);
  });

  it('holds the names and kinds of its policies, never their numbers', async () => {
    const policy = [
      fixedWindow({ name: 'burst', limit: 5, window: '1s' }),
      fixedWindow({ name: 'steady', limit: 100, window: '1h' }),
    ];
    await createLimiter({
      name: 'orders',
      shared: true,
      policy,
      store: redisStore(redis.client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    }).consume('user-42');

    expect(await redis.admin.keys('*')).toEqual(['sluice:{user-42}:orders:2f.burst,f.steady']);
  });

  it('holds the subject as it is where that is well-formed, of up to 256 characters, and without braces', async () => {
    const subject = 'order 4711: Käthe “日本語” 👩‍👩‍👧\n\u0000*?[a]\\'.padEnd(256, '.');
    await limiter('orders').consume(subject);

    expect(await redis.admin.keys('*')).toEqual([`sluice:{${subject}}:orders:2f`]);
  });

  it.each([
    ['more than 256 characters', 'x'.repeat(257)],
    ['a brace that opens', 'a{b'],
    ['a brace that closes', 'a}b'],
    ['a lone high surrogate', 'a\ud800b'],
    ['a lone low surrogate', 'a\udc00b'],
    ['a # at its beginning', '#ab'],
  ])('holds 128 bits of a hash in place of a subject with %s', async (_what, subject) => {
    await limiter('orders').consume(subject);

    expect(await redis.admin.keys('*')).toEqual([expect.stringMatching(/^sluice:\{#[\w-]{22}\}:orders:2f$/)]);
  });

  it('stays in its hash tag and short, whatever the subject is', async () => {
    const some = limiter('tags');
    for (const subject of AWKWARD) await some.consume(subject);

    const keys = await redis.admin.keys('*');

    expect(keys).toHaveLength(AWKWARD.length);
    expect(keys.map(taggedPart).filter((tag) => tag === '' || /[{}]/.test(tag))).toEqual([]);
    expect(Math.max(...keys.map((key) => key.length))).toBe('sluice:{}:tags:2f'.length + 256);
    expect(Math.max(...keys.map((key) => Buffer.byteLength(key)))).toBe('sluice:{}:tags:2f'.length + 3 * 256);
  });

  it.each<[string, () => Store]>([
    ['in Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
    ['in memory', () => memoryStore()],
  ])('%s is counted by itself, and is the same one again', async (_where, storeOf) => {
    const some = limiter('apart', storeOf());

    for (const remaining of [4, 3]) {
      for (const subject of AWKWARD) expect(await some.consume(subject)).toMatchObject({ remaining });
    }
  });

  it('is another for every other subject', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(encodeSubject(a) === encodeSubject(b)).toBe(a === b);
        expect(bytesOf(keyOf(a)).equals(bytesOf(keyOf(b)))).toBe(a === b);
      }),
      { numRuns: cases(5_000), seed: testSeed(42) },
    );
  });

  it('is bounded, is text in UTF-8, and has its subject alone for a hash tag', () => {
    fc.assert(
      fc.property(texts, (subject) => {
        const key = keyOf(subject);

        expect(encodeSubject(subject).length).toBeLessThanOrEqual(256);
        expect(bytesOf(key).length).toBeLessThanOrEqual('sluice:{}:tags:2f'.length + 3 * 256);
        expect(bytesOf(key).toString()).toBe(key);
        expect(taggedPart(key)).toBe(hashTag(encodeSubject(subject)));
        expect(key.replace(`{${taggedPart(key)}}`, '')).toBe('sluice::tags:2f');
      }),
      { numRuns: cases(5_000), seed: testSeed(43) },
    );
  });

  it('is the same one when its hash is no longer remembered', () => {
    const before = AWKWARD.map(keyOf);

    for (let i = 0; i < 5_000; i++) keyOf(`{${String(i)}}`);

    expect(AWKWARD.map(keyOf)).toEqual(before);
  });

  it('is no subject’s key under another limiter or prefix', async () => {
    await limiter('one').consume('a');
    await limiter('two').consume('a');
    await limiter('one', redisStore(redis.client, { prefix: 'sluice:other' })).consume('a');

    expect(await redis.admin.dbsize()).toBe(3);
  });
});
