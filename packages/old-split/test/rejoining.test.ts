import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, tokenBucket } from '@sluice/old-core';
import { createSplitStore } from '../src/split-store.ts';
import { ManualMembership, NOON_MS } from './manual-membership.ts';

const bucketOf = (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1s' });

describe('a split store that was closed', () => {
  it('is not joined again by a request that comes late', async () => {
    const hand = new ManualMembership();
    const limiter = hand.limiter(bucketOf(10));
    hand.confirm({ me: 1 });
    await hand.store.close();

    await expect(limiter.consume('key')).rejects.toMatchObject({ code: 'SLUICE_SPLIT_UNCONFIRMED' });

    expect(hand.joined).toBe(1);
    expect(hand.left).toBe(1);
  });

  it('has no share after it joins again, although the replies of the membership look the same', async () => {
    const hand = new ManualMembership();
    const limiter = hand.limiter(bucketOf(10));
    hand.confirm({ me: 1 });
    hand.live(60_000);
    expect((await limiter.consume('key')).allowed).toBe(true);
    await hand.store.close();
    const again = hand.limiter(bucketOf(10), 'again');
    hand.confirm({ me: 1, other: 1 });

    expect((await again.consume('key')).allowed).toBe(false);
    expect((await limiter.consume('key')).allowed).toBe(false);
  });

  it('stays open for a limiter that is made while the last one closes', async () => {
    const hand = new ManualMembership();
    const closing = hand.limiter(bucketOf(10)).close();
    hand.limiter(bucketOf(10), 'another');
    await closing;

    expect(hand.left).toBe(0);
  });
});

describe('buckets of one name with different numbers', () => {
  it('leave each other’s keys as they are, however often they take turns', async () => {
    const hand = new ManualMembership();
    const common = { name: 'plan', shared: true, store: hand.store, onStoreError: 'throw' } as const;
    const free = createLimiter({ ...common, policy: bucketOf(10) });
    const paid = createLimiter({ ...common, policy: bucketOf(100) });
    hand.confirm({ me: 1 });
    hand.live(200_000);
    await free.consume('idle');

    for (let i = 0; i < 300; i++) {
      await free.peek('busy');
      await paid.consume('busier', 0);
    }

    expect((await free.peek('idle')).remaining).toBe(9);
  });
});

describe('an instance of so many equals', () => {
  it('is in the window of the others again after its machine was suspended', async () => {
    let dateMs = NOON_MS;
    const store = createSplitStore({ membership: 2 }, { monotonicMs: () => 5000, dateMs: () => dateMs });
    const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '1m', align: 'clock' }), store });
    await limiter.consume('key');
    expect((await limiter.consume('key')).allowed).toBe(false);

    dateMs += 3_600_000; // while performance.now() stood still

    expect(await limiter.consume('key')).toMatchObject({ allowed: true, atMs: NOON_MS + 3_600_000 });
  });
});
