import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { concurrency, fixedWindow, redisStore, tokenBucket, type RedisStore } from '../../../src/index.ts';
import type { Answer, Ask, Op } from '../../../src/stores/store.ts';
import { ask, five } from './asks.ts';

const redis = useRedis();
let store: RedisStore;
/** Of another process. */
let other: RedisStore;
let nowMs: number;
beforeEach(async () => {
  await redis.admin.flushall();
  store = redisStore(redis.client, { prefix: 'sluice' });
  other = redisStore(redis.client, { prefix: 'sluice' });
  nowMs = 5_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const ANN = ask('ann');
/** Takes all units of some keys, and is denied once more. */
async function exhaust(...asks: readonly Ask[]): Promise<Answer> {
  for (const { key, policy } of asks) await other.perform('charge', [{ key, policy, cost: 5 }]);
  return store.perform('take', asks);
}
/** From where the answer to a request comes. */
async function sourceOf(op: Op, ...asks: readonly Ask[]): Promise<'cache' | 'redis'> {
  return (await store.perform(op, asks)).source ?? 'redis';
}

describe('a denial', () => {
  it('of several keys is remembered as a whole: the same request is denied without a call', async () => {
    const both = [ask('bob'), ask('ann', tokenBucket({ capacity: 5, refill: 1, every: '1h' }))];
    const { atMs, figures } = await exhaust(...both);
    nowMs += 300;

    const later = (told: readonly number[]): number[] =>
      told.map((figure, place) => (place >= 3 && place <= 5 ? figure - 300 : figure));
    expect(store.perform('take', both)).toEqual({ source: 'cache', atMs: atMs + 300, figures: figures.map(later) });
  });

  it('is remembered for a second from when it was asked', async () => {
    await exhaust(ANN);

    nowMs += 999;
    expect(await sourceOf('take', ANN)).toBe('cache');
    nowMs += 1;
    expect(await sourceOf('take', ANN)).toBe('redis');
  });

  it('is remembered no longer than it lasts', async () => {
    const fast = ask('ann', tokenBucket({ capacity: 5, refill: 1, every: '900ms' }));
    const { figures } = await exhaust(fast);
    const waitMs = figures[0]?.[3] ?? 0;

    nowMs += waitMs - 2;
    expect(await sourceOf('take', fast)).toBe('cache');
    nowMs += 1;
    expect(await sourceOf('take', fast)).toBe('redis');
  });

  it('is remembered for its own keys, policies and costs alone', async () => {
    await exhaust(ANN);

    expect(await sourceOf('take', ask('bob'))).toBe('redis');
    expect(await sourceOf('take', ask('ann', five, 2))).toBe('redis');
    expect(await sourceOf('take', ANN, ask('bob'))).toBe('redis');
    expect(await sourceOf('take', ANN)).toBe('cache');
    expect(await sourceOf('take', ask('ann', fixedWindow({ limit: 5, window: '1h' })))).toBe('redis');
  });

  it('serves a request that starts no block, but not the other way round', async () => {
    await other.perform('charge', [ask('ann', five, 5)]);
    await store.perform('try', [ANN]);
    expect(await sourceOf('take', ANN)).toBe('redis');

    expect(await sourceOf('try', ANN)).toBe('cache');
  });

  it('is passed by a peek, and by who asks so, whose denial is not remembered either, nor that of a slot', async () => {
    await exhaust({ ...ANN, uncached: true });
    expect(await sourceOf('take', ANN)).toBe('redis');
    expect(await sourceOf('peek', ANN)).toBe('redis');
    expect(await sourceOf('take', { ...ANN, uncached: true })).toBe('redis');

    const slot = { ...ask('ann', concurrency({ limit: 1, ttl: '1m' })), holder: 2 };
    await other.perform('take', [{ ...slot, holder: 1 }]);
    await store.perform('take', [slot]);
    expect(await sourceOf('take', slot)).toBe('redis');
  });

  it.each<[Op, number]>([
    ['give', 1],
    ['reset', 0],
    ['block', 1],
    ['charge', 1],
  ])('is forgotten with a %s of one of its keys', async (op, cost) => {
    const both = [ask('bob'), ANN];
    await exhaust(...both);

    await store.perform(op, [ask('ann', five, cost)]);

    expect(await sourceOf('take', ...both)).toBe('redis');
  });

  it('is forgotten when another cost of its key is allowed', async () => {
    await other.perform('charge', [ask('ann', five, 3)]);
    await store.perform('take', [ask('ann', five, 3)]);
    await store.perform('take', [ask('ann', five, 1)]);

    expect(await sourceOf('take', ask('ann', five, 3))).toBe('redis');
  });

  it('that was asked before a reset is not remembered when its answer comes after it', async () => {
    await other.perform('charge', [ask('ann', five, 5)]);

    const denied = store.perform('take', [ANN]);
    const reset = store.perform('reset', [ANN]);
    await Promise.all([denied, reset]);

    expect(await sourceOf('take', ANN)).toBe('redis');
  });

  it('is answered in a flood of ten thousand others, of which the oldest are forgotten', async () => {
    const many = Array.from({ length: 10_001 }, (_, i) =>
      ask(`key-${String(i)}`, fixedWindow({ limit: 0, window: '1h' })),
    );
    await Promise.all(many.map(async (one) => store.perform('take', [one])));

    expect(await sourceOf('take', many[1] as Ask)).toBe('cache');
    expect(await sourceOf('take', many[0] as Ask)).toBe('redis');
  });
});
