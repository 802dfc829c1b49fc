import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NestStorage } from '@sluice/compat/stores';
import { memoryStore, redisStore } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';

describe('a storage for @nestjs/throttler', () => {
  const redis = useRedis();
  beforeEach(() => {
    jest.useFakeTimers({
      now: 1_900_000_000_000,
      doNotFake: ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'],
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** By a throttler of 2 in a second: milliseconds after the hit before, hits, and seconds of a block. */
  it.each<[string, number, readonly (readonly [afterMs: number, totalHits: number, blockedFor: number])[]]>([
    [
      'as long as the window',
      1000,
      [
        [0, 1, 0],
        [0, 2, 0],
        [0, 3, 1],
        [500, 3, 1],
        [500, 1, 0],
        [0, 2, 0],
        [0, 3, 1],
      ],
    ],
    [
      'longer than it',
      3000,
      [
        [0, 1, 0],
        [0, 2, 0],
        [0, 3, 3],
        [1500, 3, 2],
        [1500, 1, 0],
        [0, 2, 0],
        [0, 3, 3],
      ],
    ],
    [
      'shorter than it',
      400,
      [
        [0, 1, 0],
        [0, 2, 0],
        [0, 3, 1],
        [200, 3, 1],
        [200, 1, 0],
        [0, 2, 0],
        [0, 3, 1],
      ],
    ],
  ])('blocks as the storage of the peer, and begins again after it: %s', async (_title, blockDuration, steps) => {
    const storage = new NestStorage({ store: memoryStore({ clock: Date }) });
    const seen: (readonly [number, number, number])[] = [];
    for (const [afterMs] of steps) {
      jest.setSystemTime(Date.now() + afterMs);
      const { totalHits, isBlocked, timeToBlockExpire } = await storage.increment(
        'key',
        1000,
        2,
        blockDuration,
        'default',
      );
      seen.push([afterMs, totalHits, isBlocked ? timeToBlockExpire : 0]);
    }
    await storage.onApplicationShutdown();

    expect(seen).toEqual(steps);
  });

  it('counts keys, throttlers and limits apart as the guard does', async () => {
    const storage = new NestStorage({ store: memoryStore({ clock: Date }) });
    const hits = async (key: string, name: string, limit = 1): Promise<readonly unknown[]> => {
      const { totalHits, isBlocked, timeToExpire } = await storage.increment(key, 60_000, limit, 60_000, name);
      return [totalHits, isBlocked, timeToExpire];
    };

    expect(await hits('a', 'short')).toEqual([1, false, 60]);
    expect(await hits('b', 'short')).toEqual([1, false, 60]);
    expect(await hits('a', 'two words')).toEqual([1, false, 60]);
    expect(await hits('a', 'two_words')).toEqual([1, false, 60]);
    expect(await hits('a', 'short')).toEqual([2, true, 60]);
    await storage.onApplicationShutdown();
  });

  it('allows exactly the limit of many hits at once in Redis, in one call each', async () => {
    jest.useRealTimers();
    const storages = [0, 1].map(
      () => new NestStorage({ store: redisStore(redis.client, { prefix: 'sluice' }), timeoutMs: 60_000 }),
    );

    const records = await Promise.all(
      storages.flatMap((storage) =>
        Array.from({ length: 20 }, () => storage.increment('key', 60_000, 10, 60_000, 'default')),
      ),
    );

    expect(records.filter(({ isBlocked }) => !isBlocked)).toHaveLength(10);
    expect(new Set(records.filter(({ isBlocked }) => isBlocked).map(({ totalHits }) => totalHits))).toEqual(
      new Set([11]),
    );
    await Promise.all(storages.map((storage) => storage.onApplicationShutdown()));
  });
});
