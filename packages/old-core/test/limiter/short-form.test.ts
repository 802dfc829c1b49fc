import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore, slidingWindow, type Limiter, type Store } from '@sluice/old-core';
import { fakeClock } from '@sluice/testkit';

/** The decisions on five requests, of which the last two come after a minute. */
async function decisionsOf(make: (store: Store) => Limiter): Promise<unknown[]> {
  const clock = fakeClock();
  const limiter = make(memoryStore({ clock }));
  const decisions = [];
  for (const ms of [0, 1, 50, 60_000, 0]) {
    clock.atMs += ms;
    decisions.push(await limiter.consume('user-42'));
  }
  await limiter.close();
  return decisions;
}

describe('createLimiter({ limit, window })', () => {
  it('decides as the sliding window of these numbers', async () => {
    const short = await decisionsOf((store) => createLimiter({ limit: 2, window: '1m', store }));

    const policy = slidingWindow({ limit: 2, window: '1m' });
    expect(short).toEqual(await decisionsOf((store) => createLimiter({ policy, store })));
    expect(short).toMatchObject([true, true, false, true, true].map((allowed) => ({ allowed })));
  });
});
