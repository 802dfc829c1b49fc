import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, slidingWindow, tokenBucket, type Limiter, type Policy } from '@sluice/old-core';
import { fixedMembership, splitStore, type SplitStoreOptions } from '@sluice/old-split';

const limiters: Limiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

function limiterOn(membership: SplitStoreOptions['membership'], policy: Policy, name = 'split'): Limiter {
  const limiter = createLimiter({ name, policy, store: splitStore({ membership }), onStoreError: 'throw' });
  limiters.push(limiter);
  return limiter;
}

async function allowedBy(limiter: Limiter, asked: number): Promise<number> {
  let allowed = 0;
  for (let i = 0; i < asked; i++) if ((await limiter.consume('key')).allowed) allowed++;
  return allowed;
}

/** None of them gives anything back while the test runs. */
const policies: readonly (readonly [string, (limit: number) => Policy])[] = [
  ['fixedWindow', (limit) => fixedWindow({ limit, window: '3650d', align: 'clock' })],
  ['slidingWindow', (limit) => slidingWindow({ limit, window: '3650d' })],
  ['tokenBucket', (capacity) => tokenBucket({ capacity, refill: 1, every: '365d' })],
];

describe.each(policies)('a limit of ten over three instances, by %s', (_name, policy) => {
  it('is split into four, three and three', async () => {
    const instances = [0, 1, 2].map((index) => limiterOn(fixedMembership({ instances: 3, index }), policy(10)));

    const allowed = await Promise.all(instances.map((limiter) => allowedBy(limiter, 20)));

    expect(allowed).toEqual([4, 3, 3]);
  });

  it('is rounded down for each where they are only counted', async () => {
    const instances = [0, 1, 2].map(() => limiterOn(3, policy(10)));

    const allowed = await Promise.all(instances.map((limiter) => allowedBy(limiter, 20)));

    expect(allowed).toEqual([3, 3, 3]);
  });
});

describe('a decision of a split store', () => {
  it('reports the whole limit, and what remains at least', async () => {
    const limiter = limiterOn(4, fixedWindow({ limit: 100, window: '1d', align: 'clock' }));

    const decision = await limiter.consume('key');

    expect(decision).toMatchObject({ allowed: true, source: 'split', limit: 100, remaining: 24 });
    expect(decision.policies).toMatchObject([{ limit: 100, windowMs: 86_400_000, remaining: 24 }]);
    expect((decision.atMs + decision.resetAfterMs) % 86_400_000).toBe(0);
  });
});
