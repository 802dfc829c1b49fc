import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  type Limit,
  type Part,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { useRedis } from '@sluice/testkit';
import { references } from '../../laws/models/index.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const OPTIONS: Readonly<Record<string, object>> = {
  fixedWindow: { limit: 5, window: '1m' },
  slidingWindow: { limit: 5, window: '1m' },
  slidingCounter: { limit: 5, window: '1m' },
  slidingLog: { limit: 5, window: '1m' },
  leakyBucket: { limit: 1, window: '1m', maxDelay: '4m' },
  concurrency: { limit: 5, ttl: '1m' },
};
const BUCKET = { capacity: 5, refill: 1, every: '1m' };

/** Nothing that any policy writes. */
const TEXTS = [
  'hello',
  '{"count":3}',
  'null',
  '1.5',
  '-5:5',
  '5:-5',
  '1:2:3:x',
  'nan:nan',
  'inf:inf',
  ' ',
  '12',
  '!',
  '!!',
  '!x!',
  '!x!1795262400250000001',
  '9007199254740993:1',
  'x'.repeat(5_000),
];

const show = (answers: StoreAnswers): unknown[] =>
  answers.map((answer) => (answer instanceof Error ? (answer as { code?: unknown }).code : 'decided'));

describe.each(references)('a key of $algorithm that holds something else', ({ algorithm, policyOf }) => {
  const policies = namePolicies(policyOf({ ...(OPTIONS[algorithm] ?? BUCKET) }), 'unreadable');
  const limit: Limit = { policies, keySuffix: keySuffixOf('unreadable', policies) };
  const key = `sluice:{bad}${limit.keySuffix}`;
  const part = (subject: string): Part => ({ limit, subject, cost: 1 });
  const consume = (subject: string): StoreRequest => ({ op: 'consume', parts: [part(subject)] });
  const between = (request: StoreRequest): Promise<StoreAnswers> =>
    redisStore(redis.client, { prefix: 'sluice' }).perform([consume('one'), request, consume('other')]);

  it.each(TEXTS)(
    '%j: is that request’s error, is left alone, and its neighbours in the call are decided',
    async (text) => {
      await redis.admin.set(key, text);

      expect(show(await between(consume('bad')))).toEqual(['decided', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
      expect(await redis.admin.get(key)).toBe(text);
    },
  );

  it('a list where a string is expected: is that request’s error, and its neighbours in the call are decided', async () => {
    await redis.admin.rpush(key, 'a', 'b');

    expect(show(await between(consume('bad')))).toEqual(['decided', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
    expect(await redis.admin.lrange(key, 0, -1)).toEqual(['a', 'b']);
  });

  it('takes nothing from the other keys of the same request', async () => {
    await redis.admin.set(key, 'hello');

    await between({ op: 'consume', parts: [part('one'), part('bad'), part('other')] });

    const [one] = await redisStore(redis.client, { prefix: 'sluice' }).perform([{ op: 'peek', parts: [part('one')] }]);
    expect(one).toMatchObject({ parts: [{ policies: [{ remaining: 4 }] }] });
  });

  it.each(['hello', '!x!1795262400250000001'])(
    '%j: is that request’s error where it stands before keys that no other request asks for',
    async (text) => {
      await redis.admin.set(key, text);

      const answers = await between({ op: 'consume', parts: [part('bad'), part('second'), part('third')] });

      expect(show(answers)).toEqual(['decided', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
    },
  );

  it('is left alone by those who ask for it in the same call, after a peek at it and others', async () => {
    const text = '!x!1795262400250000001';
    await redis.admin.set(key, text);

    const answers = await redisStore(redis.client, { prefix: 'sluice' }).perform([
      { op: 'peek', parts: [part('bad'), part('other')] },
      consume('bad'),
      consume('other'),
    ]);

    expect(show(answers)).toEqual(['SLUICE_STORE_KEY_FOREIGN', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
    expect(await redis.admin.get(key)).toBe(text);
  });

  it('is named in the error by its form, without the subject', async () => {
    await redis.admin.set(key, 'hello');

    const [, error] = await between(consume('bad'));

    expect((error as unknown as Error).message).toMatch(
      /^a key of the form sluice:\{\.\.\.\}:unreadable:\S+ cannot be read: .*; delete it, or give the store a prefix/,
    );
    expect((error as unknown as Error).message).not.toContain('bad');
  });

  it.each<StoreRequest>([
    { op: 'peek', parts: [part('bad')] },
    { op: 'refund', part: part('bad'), chargedUntilMs: [1] },
    { op: 'charge', part: part('bad'), chargedUntilMs: [1] },
    { op: 'block', part: part('bad'), durationMs: 1_000 },
    { op: 'unblock', part: part('bad') },
    { op: 'reset', part: part('bad') },
  ])('is that request’s error, and left alone, also for $op', async (request) => {
    for (const text of ['hello', '1:2:3:x', '!x!1795262400250000001']) {
      await redis.admin.set(key, text);

      expect(show(await between(request))).toEqual(['decided', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
      expect(await redis.admin.get(key)).toBe(text);
    }
  });
});

describe('a key under a limit of 0, which denies before anything is read', () => {
  it.each(['alone', 'with others in one call'])('says that it holds something else: %s', async (how) => {
    const policy = fixedWindow({ limit: 0, window: '1m' });
    const store = redisStore(redis.client, { prefix: 'sluice' });
    const limiter = createLimiter({ name: 'none', policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    await redis.admin.set('sluice:{text}:none:2f', 'hello');
    await redis.admin.rpush('sluice:{list}:none:2f', 'hello');

    for (const key of ['text', 'list']) {
      const others = how === 'alone' ? [] : [limiter.consume('one'), limiter.consume('other')];
      await expect(limiter.consume(key)).rejects.toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN' });
      expect((await Promise.all(others)).map(({ outcome }) => outcome)).toEqual(others.map(() => 'denied'));
    }
  });
});
