import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, slidingLog, type Limit, type Limiter, type Part, type StoreRequest } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { fakeClock, useRedis, virtualRedisStore, type FakeClock } from '@sluice/testkit';
import { START_MS } from '../../traces/step.ts';

const redis = useRedis();
let clock: FakeClock;
beforeEach(async () => {
  clock = fakeClock(START_MS);
  await redis.admin.flushall();
});

const KEY = 'sluice:{key}:log:2l';
const LIST = `${KEY}:l1`;
const MINUTE = 60_000;

const limiterOf = (limit: number, windowMs: number = MINUTE): Limiter =>
  createLimiter({
    name: 'log',
    policy: slidingLog({ limit, window: windowMs }),
    store: virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

const bytes = async (): Promise<unknown[]> =>
  Promise.all([KEY, LIST].flatMap((key) => [redis.admin.dumpBuffer(key), redis.admin.pexpiretime(key)]));

async function consumeEach(limiter: Limiter, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await limiter.consume('key');
    clock.atMs += 1;
  }
}

describe('what a slidingLog denies', () => {
  it('leaves no byte, and no other expiry', async () => {
    const limiter = limiterOf(3);
    await consumeEach(limiter, 3);
    const before = await bytes();
    clock.atMs += 100;

    for (const cost of [1, 2, 3, 4]) await limiter.consume('key', cost);
    await limiter.peek('key');

    expect(await bytes()).toEqual(before);
  });

  it('creates nothing on a key that was never used', async () => {
    await limiterOf(3).consume('key', 4);

    expect(await redis.admin.keys('*')).toEqual([]);
  });
});

describe('a slidingLog of which Redis has lost one key', () => {
  it('counts what the value says until its newest unit expires, when the list is gone', async () => {
    const limiter = limiterOf(5);
    await consumeEach(limiter, 3); // the newest at START + 2
    await redis.admin.del(LIST);

    const shown = await limiter.peek('key', 0);
    const allowed = [];
    for (let i = 0; i < 4; i++) allowed.push((await limiter.consume('key')).allowed);
    clock.atMs = START_MS + MINUTE + 1;
    const early = await limiter.peek('key', 3);
    clock.atMs = START_MS + MINUTE + 2;

    expect(shown.remaining).toBe(2);
    expect(allowed).toEqual([true, true, false, false]);
    expect(early.allowed).toBe(false);
    expect((await limiter.peek('key', 3)).allowed).toBe(true);
  });

  it('begins again when the value is gone, and counts nothing of the list', async () => {
    const limiter = limiterOf(5);
    await consumeEach(limiter, 3);
    await redis.admin.del(KEY);

    const allowed = [];
    for (let i = 0; i < 7; i++) allowed.push((await limiter.consume('key')).allowed);

    expect(allowed).toEqual([true, true, true, true, true, false, false]);
    expect(await redis.admin.llen(LIST)).toBe(1); // one instant
  });

  it('goes by the value when the list is that of an earlier time', async () => {
    const limiter = limiterOf(5);
    await consumeEach(limiter, 2);
    const earlier = await redis.admin.lrange(LIST, 0, -1);
    await consumeEach(limiter, 2);
    await redis.admin.del(LIST);
    await redis.admin.rpush(LIST, ...earlier);

    expect((await limiter.consume('key', 2)).allowed).toBe(false);
    expect((await limiter.consume('key')).allowed).toBe(true);
  });
});

describe('something else under the key of a list', () => {
  const policies = namePolicies(slidingLog({ limit: 5, window: MINUTE }), 'log');
  const limit: Limit = { policies, keySuffix: keySuffixOf('log', policies) };
  const consume = (subject: string): StoreRequest => {
    const part: Part = { limit, subject, cost: 1 };
    return { op: 'consume', parts: [part] };
  };

  it.each(['without a value', 'beside a value'])(
    'is that request’s error, is left alone, and its neighbours in the call are decided: %s',
    async (where) => {
      const store = virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0);
      if (where === 'beside a value') await store.perform([consume('key')]);
      await redis.admin.set(LIST, 'mine');

      const answers = await store.perform([consume('one'), consume('key'), consume('other')]);

      expect(
        answers.map((answer) => (answer instanceof Error ? (answer as { code?: string }).code : 'decided')),
      ).toEqual(['decided', 'SLUICE_STORE_KEY_FOREIGN', 'decided']);
      expect(await redis.admin.get(LIST)).toBe('mine');
    },
  );
});

describe('a slidingLog of 100 000 entries', () => {
  /** As if a unit had been taken every 10 ms. */
  async function fill(count: number): Promise<void> {
    const entries = Array.from(
      { length: count },
      (_, i) => `${String(START_MS + 10 * i)}${String((i + 1) % 1_000_000).padStart(6, '0')}`,
    );
    for (let i = 0; i < count; i += 5_000) await redis.admin.rpush(LIST, ...entries.slice(i, i + 5_000));
    await redis.admin.set(KEY, `${String(START_MS + 10 * (count - 1))}${String(count).padStart(6, '0')}`);
    clock.atMs = START_MS + 10 * count;
  }

  const calls = async (command: string): Promise<number> =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.admin.info('commandstats'))?.[1] ?? 0);

  it('reads some dozen of them for a decision, wherever the oldest unit lies', async () => {
    const limiter = limiterOf(100_000, 2_000_000);
    await fill(100_000);
    await redis.admin.config('RESETSTAT');

    const denied = await limiter.consume('key', 40_000);
    const read = [await calls('lindex')];
    clock.atMs += 1_500_000; // 50 001 of them are over
    const allowed = await limiter.consume('key', 40_000);
    read.push((await calls('lindex')) - (read[0] ?? 0));

    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 2_000_000 - 1_000_000 + 10 * 39_999 });
    expect(allowed).toMatchObject({ allowed: true, remaining: 10_001 });
    expect(await redis.admin.llen(LIST)).toBe(50_000);
    // A search takes twice as many steps as the number has digits in base two, and a decision a few searches.
    for (const count of read) expect(count).toBeLessThan(6 * 2 * 17);
    expect(await calls('lrange')).toBe(0);
  });
});
