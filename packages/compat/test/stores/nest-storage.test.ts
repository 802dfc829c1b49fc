import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { NestStorage } from '@sluice/compat/stores';
import { memoryStore, redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';

describe('a storage for @nestjs/throttler', () => {
  const redis = useRedis();
  afterEach(() => {
    jest.useRealTimers();
  });

  /** By a throttler of 2 in a second: after how many milliseconds each hit comes, the hits, and seconds of a block. */
  it.each([
    ['as long as the window', 1000, '0: 1/0, 0: 2/0, 0: 3/1, 500: 3/1, 500: 1/0, 0: 2/0, 0: 3/1'],
    ['longer than it', 3000, '0: 1/0, 0: 2/0, 0: 3/3, 1500: 3/2, 1500: 1/0, 0: 2/0, 0: 3/3'],
    ['shorter than it', 400, '0: 1/0, 0: 2/0, 0: 3/1, 200: 3/1, 200: 1/0, 0: 2/0, 0: 3/1'],
    ['0: for the rest of the window', 0, '0: 1/0, 0: 2/0, 0: 3/1, 999: 3/1, 1: 1/0'],
  ])('blocks, and begins again after it: %s', async (_title, blockDuration, steps) => {
    const doNotFake = ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const;
    jest.useFakeTimers({ now: 1_900_000_000_000, doNotFake: [...doNotFake] });
    const storage = new NestStorage({ store: memoryStore({ clock: Date }) });
    const seen: string[] = [];
    for (const step of steps.split(', ')) {
      const afterMs = Number.parseInt(step, 10);
      jest.setSystemTime(Date.now() + afterMs);
      const { totalHits, timeToBlockExpire } = await storage.increment('key', 1000, 2, blockDuration, 'default');
      seen.push(`${String(afterMs)}: ${String(totalHits)}/${String(timeToBlockExpire)}`);
    }

    expect(seen.join(', ')).toBe(steps);
  });

  it('counts keys and throttlers apart', async () => {
    const storage = new NestStorage();
    const hit = async (key: string, name: string): Promise<readonly unknown[]> => {
      const { totalHits, isBlocked, timeToExpire } = await storage.increment(key, 60_000, 1, 60_000, name);
      return [totalHits, isBlocked, timeToExpire];
    };

    expect(await hit('a', 'short')).toEqual([1, false, 60]);
    expect(await hit('b', 'short')).toEqual([1, false, 60]);
    expect(await hit('a', 'two words')).toEqual([1, false, 60]);
    expect(await hit('a', 'short')).toEqual([2, true, 60]);
  });

  it('allows exactly the limit of many hits at once in Redis', async () => {
    const make = (): NestStorage =>
      new NestStorage({ store: redisStore(redis.client, { prefix: 'sluice' }), timeoutMs: 60_000 });
    const storages = [make(), make()];

    const hits = storages.flatMap((storage) =>
      Array.from({ length: 20 }, () => storage.increment('key', 60_000, 10, 60_000, 'default')),
    );
    const totals = (await Promise.all(hits)).map(({ totalHits }) => totalHits).toSorted((a, b) => a - b);
    await Promise.all(storages.map((storage) => storage.onApplicationShutdown()));

    expect(totals).toEqual([...Array.from({ length: 10 }, (_, i) => i + 1), ...Array<number>(30).fill(11)]);
  });

  it('goes on in memory while the store fails, if it says so: also for a block that takes a second call', async () => {
    const store = { source: 'redis', perform: () => Promise.reject(new Error('gone')) } as const;
    const storage = new NestStorage({ store, onStoreError: 'local' });
    const hit = (): Promise<unknown> => storage.increment('key', 60_000, 1, 1_000, 'default');

    expect([await hit(), await hit()]).toMatchObject([{ isBlocked: false }, { isBlocked: true, timeToBlockExpire: 1 }]);
    await expect(new NestStorage({ store }).increment('key', 1, 1, 1, 'default')).rejects.toThrow('gone');
  });
});
