import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concurrency, createLimiter, memoryStore, type Limiter, type Store } from '@sluice/old-core';

const TTL_MS = 60_000;
const policy = concurrency({ limit: 1, ttl: TTL_MS });

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** A store that says what it performed, and whether it is closed. */
function watchedStore(): { readonly store: Store; readonly performed: string[] } {
  const inner = memoryStore({ clock: { now: () => 1_795_262_400_000 + jest.now() } });
  const performed: string[] = [];
  return {
    performed,
    store: {
      source: 'redis',
      perform: async (requests) => {
        performed.push(...requests.map(({ op }) => op));
        return Promise.resolve(inner.perform(requests));
      },
      close: async () => {
        performed.push('close');
        return Promise.resolve();
      },
    },
  };
}

const isFree = async (limiter: Limiter): Promise<boolean> => (await limiter.peek('imports')).allowed;

describe('acquisitions of one holder', () => {
  it('hold the slot until each of them has released it', async () => {
    const { store, performed } = watchedStore();
    const limiter = createLimiter({ policy, store });
    const [first, second] = await Promise.all([
      limiter.acquire('imports', { holder: 'job-1' }),
      limiter.acquire('imports', { holder: 'job-1' }),
    ]);

    await first.release();
    await first.release();
    const heldByOne = await isFree(limiter);
    const isHeld = [await first.renew(), await second.renew()];
    await second.release();

    expect(heldByOne).toBe(false);
    expect(isHeld).toEqual([false, true]);
    expect(await isFree(limiter)).toBe(true);
    expect(performed.filter((op) => op === 'release')).toHaveLength(1);
    await limiter.close();
  });

  it('are those of all limiters that share their state', async () => {
    const { store } = watchedStore();
    const [one, other] = [0, 1].map(() => createLimiter({ name: 'jobs', shared: true, policy, store })) as [
      Limiter,
      Limiter,
    ];
    const first = await one.acquire('imports', { holder: 'job-1' });
    const second = await other.acquire('imports', { holder: 'job-1' });

    await first.release();
    expect(await isFree(one)).toBe(false);
    await second.release();

    expect(await isFree(one)).toBe(true);
    await Promise.all([one.close(), other.close()]);
  });

  it('do not count under another key, with another cost, or once their slot has expired', async () => {
    const { store } = watchedStore();
    const limiter = createLimiter({ policy: concurrency({ limit: 3, ttl: TTL_MS }), store });
    await limiter.acquire('exports', { holder: 'job-1' });
    await limiter.acquire('imports', { holder: 'job-1', cost: 2 });
    const early = await limiter.acquire('imports', { holder: 'job-1' });
    await early.release();
    expect((await limiter.peek('imports')).remaining).toBe(1);

    const expired = await limiter.acquire('imports', { holder: 'job-2' });
    jest.advanceTimersByTime(TTL_MS);
    const late = await limiter.acquire('imports', { holder: 'job-2' });
    await expired.release();
    expect(await late.renew()).toBe(true);
    await late.release();

    expect((await limiter.peek('imports')).remaining).toBe(3);
    await limiter.close();
  });
});

describe('a slot that is acquired while its limiter is closed', () => {
  it('can be renewed and released, and the store stays open until then', async () => {
    const { store, performed } = watchedStore();
    const limiter = createLimiter({ policy, store });
    const { release, renew } = await limiter.acquire('imports');

    await limiter.close();
    expect(performed).toEqual(['consume']);
    expect(await renew()).toBe(true);
    await release();

    expect(performed).toEqual(['consume', 'renew', 'release', 'close']);
    expect(await renew()).toBe(false);
  });

  it('keeps the store open until it has expired, if it is never released', async () => {
    const { store, performed } = watchedStore();
    const limiter = createLimiter({ policy, store });
    const { release, renew } = await limiter.acquire('imports');
    await limiter.close();

    jest.advanceTimersByTime(TTL_MS - 1);
    expect(await renew()).toBe(true);
    jest.advanceTimersByTime(TTL_MS - 1);
    expect(performed).toEqual(['consume', 'renew']);
    jest.advanceTimersByTime(1);
    await new Promise(setImmediate);

    expect(performed).toEqual(['consume', 'renew', 'close']);
    await release();
    expect(await renew()).toBe(false);
    expect(performed).toHaveLength(3);
  });
});
