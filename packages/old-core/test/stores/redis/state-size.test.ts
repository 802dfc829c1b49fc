import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Part,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type StoreRequest,
  tokenBucket,
} from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { fakeClock, virtualRedisStore, useRedis } from '@sluice/testkit';
import { START_MS } from '../../traces/step.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const KEYS = 12_500; // as full a table of the server as 50 000 make
const FIRST = 100_000;
const usedMemory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.admin.info('memory'))?.[1]);

/** Writes a value under many keys, for a start. */
const COPY = `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call("SET", "sluice:{user-" .. i .. "}" .. ARGV[3], ARGV[4], "PXAT", ARGV[5])
end`;

/**
 * Says what a key takes up on average, its expiry and the server's tables included, after so many units were consumed
 * at each of the instants. All but the last are consumed under one key, whose value all others are given then.
 */
async function bytesPerKey(
  policy: Policy,
  instants: readonly number[],
  cost = 1,
): Promise<{ bytes: number; key: string }> {
  const clock = fakeClock();
  const policies = namePolicies(policy, 'sizes');
  const limit = { policies, keySuffix: keySuffixOf('sizes', policies) };
  const store = virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0);
  const parts = (i: number): readonly Part[] => [{ limit, subject: `user-${String(i)}`, cost }];
  const consume = (i: number): StoreRequest => ({ op: 'consume', parts: parts(i) });
  await store.perform([{ op: 'peek', parts: parts(FIRST) }]); // loads the script
  const before = await usedMemory();

  for (const atMs of instants) {
    clock.atMs = atMs;
    if (atMs !== instants.at(-1)) await store.perform([consume(FIRST)]);
  }
  const start = await redis.admin.get(`sluice:{user-${String(FIRST)}}${limit.keySuffix}`);
  await redis.admin.eval(COPY, 0, FIRST, FIRST + KEYS - 1, limit.keySuffix, start ?? '', START_MS);
  for (let i = 0; i < KEYS; i += 1_250)
    await store.perform(Array.from({ length: 1_250 }, (_, j) => consume(FIRST + i + j)));

  return { bytes: ((await usedMemory()) - before) / KEYS, key: (await redis.admin.randomkey()) ?? '' };
}

describe('a key of 29 characters, its value and its expiry', () => {
  it.each<[string, Policy]>([
    ['tokenBucket', tokenBucket({ capacity: 100, refill: 3, every: '7s' })],
    ['tokenBucket in intervals', tokenBucket({ capacity: 100, refill: 3, every: '7s', mode: 'interval' })],
    ['tokenBucket with overdraft', tokenBucket({ capacity: 100, refill: 3, every: '7s', overdraft: 50 })],
    ['leakyBucket', leakyBucket({ limit: 3, window: '7s', maxDelay: '1m' })],
    ['fixedWindow', fixedWindow({ limit: 100, window: '1h' })],
    ['fixedWindow on the clock', fixedWindow({ limit: 100, window: '1h', align: 'clock' })],
    ['slidingCounter', slidingCounter({ limit: 100, window: '1m' })],
  ])('of a %s take at most 170 bytes', async (_name, policy) => {
    const { bytes, key } = await bytesPerKey(policy, [START_MS, START_MS + 1]);

    expect(key).toHaveLength(29);
    expect(bytes).toBeLessThanOrEqual(170);
  });

  it('take at most 190 bytes for a slidingCounter of a long window and large counts', async () => {
    const windowMs = 30 * 86_400_000;
    const policy = slidingCounter({ limit: 999_999, window: windowMs });

    const { bytes, key } = await bytesPerKey(policy, [START_MS, START_MS + windowMs], 400_000);

    expect((await redis.admin.get(key))?.split(':').slice(1)).toEqual(['2592000000', '400000', '400000']);
    expect(bytes).toBeGreaterThan(170);
    expect(bytes).toBeLessThanOrEqual(190);
  });

  it('take at most 250 bytes for a slidingWindow with ten blocks in use', async () => {
    const instants = Array.from({ length: 10 }, (_, block) => START_MS + block * 6_000);

    const { bytes, key } = await bytesPerKey(slidingWindow({ limit: 1_000_000, window: '1m' }), instants);

    expect(key).toHaveLength(29);
    expect((await redis.admin.get(key))?.split(':')).toHaveLength(14);
    expect(bytes).toBeLessThanOrEqual(250);
  });
});

describe('the details of a long state, with the value beside them', () => {
  const bytesOf = async (keys: readonly string[]): Promise<number> => {
    const sizes = await Promise.all(keys.map(async (key) => redis.admin.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)));
    return sizes.reduce((sum: number, size) => sum + Number(size), 0);
  };
  const HELD = 'sluice:{user-100000}:sizes:2';

  it.each([
    [1, 400],
    [100, 1_500],
    [5_000, 60_000],
  ])('of a slidingLog take, with %i entries, at most %i bytes', async (entries, most) => {
    const clock = fakeClock(START_MS);
    const store = virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0);
    const policies = namePolicies(slidingLog({ limit: 20_000, window: '1h' }), 'sizes');
    const part = { limit: { policies, keySuffix: keySuffixOf('sizes', policies) }, subject: 'user-100000', cost: 1 };
    for (let i = 0; i < entries; i += 500) {
      const calls = Array.from({ length: Math.min(500, entries - i) }, async () => {
        clock.atMs += 1;
        return store.perform([{ op: 'consume', parts: [part] }]);
      });
      await Promise.all(calls);
    }

    expect(await redis.admin.llen(`${HELD}l:l1`)).toBe(entries);
    expect(await bytesOf([`${HELD}l`, `${HELD}l:l1`])).toBeLessThanOrEqual(most);
  });

  it.each([
    [1, 450],
    [100, 5_000],
    [1_000, 140_000],
  ])('of a concurrency policy take, with %i slots, at most %i bytes', async (slots, most) => {
    const limiter = createLimiter({
      name: 'sizes',
      policy: concurrency({ limit: 1_000, ttl: '1h' }),
      store: virtualRedisStore(redis.client, fakeClock(START_MS), { prefix: 'sluice' }, 0),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    await Promise.all(Array.from({ length: slots }, () => limiter.acquire('user-100000')));

    expect(await redis.admin.zcard(`${HELD}c:c1`)).toBe(slots);
    expect(await bytesOf([`${HELD}c`, `${HELD}c:c1`])).toBeLessThanOrEqual(most);
  });
});
