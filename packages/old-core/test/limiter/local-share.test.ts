import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type Policy,
  type Store,
} from '@sluice/old-core';
import { algorithmOf } from '@sluice/old-core/spi';
import { limits, windows } from '../laws/models/sizes.ts';

const away = (): Store => ({
  source: 'redis',
  perform() {
    throw new Error('away');
  },
});
const limiterWith = (policy: Policy, localShare: number): Limiter =>
  createLimiter({ policy, store: away(), localShare });
const shareOf = (policy: Policy, share: number): Policy => algorithmOf(policy).share(policy, share) as Policy;

describe('a local share', () => {
  it('is what one process allows of the limit while the store is away, and what it tells', async () => {
    const limiter = limiterWith(fixedWindow({ limit: 100, window: '1h' }), 0.25);

    const first = await limiter.consume('key', 24);
    const decisions = [await limiter.consume('key'), await limiter.consume('key')];

    expect(first).toMatchObject({ allowed: true, limit: 25, remaining: 1, source: 'local' });
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
  });

  it('is given back to by its own decisions', async () => {
    const limiter = limiterWith(fixedWindow({ limit: 100, window: '1h' }), 0.25);
    const decision = await limiter.consume('key', 25);

    await limiter.refund(decision);

    expect((await limiter.peek('key')).remaining).toBe(25);
  });

  it.each<[string, Policy, number, object]>([
    ['a window', fixedWindow({ limit: 10, window: '1m' }), 0.25, { limit: 2, windowMs: 60_000 }],
    ['no less than one unit', fixedWindow({ limit: 3, window: '1m' }), 0.1, { limit: 1 }],
    ['no unit lost to rounding', fixedWindow({ limit: 100, window: '1m' }), 0.29, { limit: 29 }],
    ['a sliding window', slidingWindow({ limit: 9, window: '1m' }), 1 / 3, { limit: 3, windowMs: 60_000 }],
    [
      'a bucket: smaller, and slower by as much',
      tokenBucket({ capacity: 20, refill: 10, every: '1s' }),
      0.25,
      { capacity: 5, refill: 10, everyMs: 4000 },
    ],
    [
      'its overdraft',
      tokenBucket({ capacity: 20, refill: 10, every: '1s', overdraft: 6 }),
      0.25,
      { capacity: 5, overdraft: 1 },
    ],
    [
      'what comes back at once',
      tokenBucket({ capacity: 20, refill: 10, every: '1s', mode: 'interval' }),
      0.25,
      { capacity: 5, refill: 2, everyMs: 1000 },
    ],
    [
      'one unit, less often',
      tokenBucket({ capacity: 20, refill: 2, every: '1s', mode: 'interval' }),
      0.25,
      { capacity: 5, refill: 1, everyMs: 2000 },
    ],
  ])('of a policy is %s', (_what, policy, share, expected) => {
    expect(shareOf(policy, share)).toMatchObject(expected);
  });

  it('is never more than that, beyond the one unit', () => {
    fc.assert(
      fc.property(
        limits,
        limits,
        windows,
        fc.double({ min: 0.001, max: 0.999, noNaN: true }),
        (limit, refill, every, share) => {
          const atMost = Math.max(limit * share * (1 + 1e-12), 1);
          expect(shareOf(fixedWindow({ limit, window: every }), share)).toHaveProperty('limit');
          expect(
            (shareOf(fixedWindow({ limit, window: every }), share) as { limit: number }).limit,
          ).toBeLessThanOrEqual(atMost);
          fc.pre(2 * limit * every < 2 ** 50 * share && every / Math.min(share * refill, share) < 36_500 * 86_400_000);
          const bucket = shareOf(tokenBucket({ capacity: limit, refill, every }), share) as Extract<
            Policy,
            { p: number }
          >;
          expect(bucket.p / bucket.q).toBeLessThanOrEqual((refill / every) * share * (1 + 1e-12));
          const interval = tokenBucket({ capacity: limit, refill, every, mode: 'interval' });
          const slower = shareOf(interval, share) as typeof interval;
          expect(slower.refill / slower.everyMs).toBeLessThanOrEqual((refill / every) * share * (1 + 1e-12));
        },
      ),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });

  it.each([
    [{ localShare: 0 }, /localShare must be a number above 0 and at most 1/],
    [{ localShare: 1.5 }, /localShare must be a number above 0 and at most 1/],
    [{ localShare: '0.5' }, /localShare must be a number above 0/],
    [{ localShare: Number.NaN }, /localShare must be a number above 0/],
    [{ localShare: 0.5, onStoreError: 'deny' }, /localShare must be left out where onStoreError is not "local"/],
  ])('is denied: %j', (options, message) => {
    const policy = fixedWindow({ limit: 3, window: '1m' });

    expect(() => createLimiter({ policy, store: away(), ...options } as LimiterOptions)).toThrow(message);
  });
});
