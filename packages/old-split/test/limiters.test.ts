import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
  type Reservation,
} from '@sluice/old-core';
import { splitStore } from '@sluice/old-split';
import { createSplitStore } from '../src/split-store.ts';

describe('a reservation of a share of a split limit', () => {
  it.each([
    ['a fixed window', fixedWindow({ limit: 20, window: '1d', align: 'clock' })],
    ['a sliding window', slidingWindow({ limit: 20, window: '1d' })],
    ['a bucket', tokenBucket({ capacity: 20, refill: 1, every: '1d' })],
  ])('of %s is settled in that share, above it too', async (_name, whole) => {
    const limiter = createLimiter({ policy: whole, store: splitStore({ membership: 2 }), onStoreError: 'throw' });
    const reservations = [
      await limiter.reserve('key', 4),
      await limiter.reserve('key', 4),
      await limiter.reserve('other', 3),
    ] as [Reservation, Reservation, Reservation];

    await reservations[0].settle(1);
    await reservations[1].settle(6);
    await reservations[2].settle(30);

    expect(await limiter.peek('key', 0)).toMatchObject({ source: 'split', limit: 20, remaining: 10 - 1 - 6 });
    expect(await limiter.peek('other')).toMatchObject({ allowed: false, remaining: 0 });
    await limiter.close();
  });
});

describe('a share of a fixed window whose clocks do not run quite alike', () => {
  it.each([
    ['given back', 1, 10 - 1],
    ['charged', 6, 10 - 6],
  ])('knows the window in which units are %s', async (_what, actual, left) => {
    let [monotonicMs, dateMs] = [5000, 1_795_262_400_000];
    const clocks = { monotonicMs: () => monotonicMs, dateMs: () => dateMs };
    const store = createSplitStore({ membership: 2 }, clocks);
    const limiter = createLimiter({ policy: fixedWindow({ limit: 20, window: '1d', align: 'clock' }), store });
    dateMs += 1; // ahead by a millisecond, and then no more
    const { settle } = await limiter.reserve('key', 4);
    monotonicMs += 1000;
    dateMs += 998.5;

    await settle(actual);

    expect((await limiter.peek('key', 0)).remaining).toBe(left);
    await limiter.close();
  });
});

describe('a split store', () => {
  it.each<[Policy, RegExp]>([
    [concurrency({ limit: 2, ttl: '1m' }), /cannot split .*concurrency.* keep this limit in redisStore/],
    [slidingLog({ limit: 5, window: '1m' }), /cannot split .*slidingLog.* use slidingWindow/],
  ])('denies $algorithm, and says what to use', (policy, message) => {
    expect(() => createLimiter({ policy, store: splitStore({ membership: 2 }) })).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringMatching(message) as unknown as string }),
    );
  });

  it('denies escalate, because instances each count for themselves', () => {
    const options = {
      policy: tokenBucket({ capacity: 5, refill: 5, every: '1s' }),
      escalate: escalate({ after: 5, block: '1m', decay: '1h' }),
      store: splitStore({ membership: 2 }),
    };

    expect(() => createLimiter(options)).toThrow(/^splitStore does not support escalate/);
  });

  it('cannot reset all keys', async () => {
    const policy = fixedWindow({ limit: 1, window: '1m', align: 'clock' });
    const limiter = createLimiter({ policy, store: splitStore({ membership: 1 }) });

    await expect(limiter.resetAll()).rejects.toMatchObject({
      code: 'SLUICE_RESET_ALL_UNSUPPORTED',
      message: expect.stringContaining('nothing was reset') as unknown,
    });
    await limiter.close();
  });
});
