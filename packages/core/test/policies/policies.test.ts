import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { concurrency } from '../../src/policies/concurrency.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import {
  compile,
  describePolicy,
  parsePolicy,
  isSamePolicy,
  scalePolicy,
  type Policy,
  type Share,
} from '../../src/policies/index.ts';
import { MAX_DURATION_MS } from '../../src/values/duration.ts';
import { leakyBucket } from '../../src/policies/leaky-bucket.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';

const fixed = fixedWindow({ limit: 10, window: '1m' });
const sliding = slidingWindow({ limit: 9, window: '1m' });
const counter = slidingCounter({ limit: 6, window: '1m' });
const log = slidingLog({ limit: 6, window: '1m' });
const bucket = tokenBucket({ capacity: 20, refill: 10, every: '1s', overdraft: 6 });
const interval = tokenBucket({ capacity: 20, refill: 10, every: '1s', mode: 'interval' });
const leaky = leakyBucket({ limit: 60, window: '1m', maxDelay: '2500ms' });
const slots = concurrency({ limit: 4, ttl: '30s' });

describe('a policy', () => {
  it('is frozen data with its numbers in milliseconds', () => {
    expect(fixedWindow({ limit: 5, window: '1m', blockFor: '1h', name: 'login' })).toStrictEqual({
      ...{ algorithm: 'fixedWindow', name: 'login', blockForMs: 3_600_000 },
      ...{ limit: 5, windowMs: 60_000, align: 'first-hit' },
    });
    expect(Object.isFrozen(fixed)).toBe(true);
  });

  it('tells its window, whether it holds slots, and whether it delays requests', () => {
    const short = slidingWindow({ limit: 9, window: '25ms' });
    const told = [fixed, short, bucket, tokenBucket({ capacity: 3, refill: 3, every: '7s' }), interval, leaky, slots];

    expect(told.map(compile).map(({ windowMs, holds, paces }) => [windowMs, holds, paces])).toEqual([
      [60_000, false, false],
      [25, false, false],
      [2_000, false, false],
      [7_000, false, false],
      [2_000, false, false],
      [60_000, false, true],
      [30_000, true, false],
    ]);
  });

  it.each<[Policy, string]>([
    [fixedWindow({ limit: 10, window: '1m', align: 'clock' }), 'fixedWindow 10 per 1m, align clock'],
    [sliding, 'slidingWindow 9 per 1m'],
    [slidingWindow({ limit: 9, window: '1m', precision: '2s' }), 'slidingWindow 9 per 1m, precision 2s'],
    [slidingCounter({ limit: 6, window: 1500, blockFor: '1h' }), 'slidingCounter 6 per 1500ms, block for 1h'],
    [log, 'slidingLog 6 per 1m'],
    [bucket, 'tokenBucket 20, 10 per 1s, overdraft 6'],
    [interval, 'tokenBucket 20, 10 per 1s, mode interval'],
    [leaky, 'leakyBucket 60 per 1m, max delay 2500ms'],
    [slots, 'concurrency 4 for 30s each'],
  ])('is described in a few words: %j', (policy, words) => {
    expect(describePolicy(policy)).toBe(words);
  });
});

describe('a policy as plain data', () => {
  it.each([fixed, sliding, counter, log, bucket, interval, leaky, slots])('is the same after JSON: %j', (policy) => {
    const text = JSON.stringify({ ...policy, name: 'api' });

    const parsed = parsePolicy(JSON.parse(text));

    expect(JSON.parse(JSON.stringify(parsed))).toEqual(JSON.parse(text));
    expect(compile(parsed).numbers).toEqual(compile(policy).numbers);
  });

  it('may have the options as a user writes them', () => {
    expect(parsePolicy({ algorithm: 'tokenBucket', capacity: 20, refill: 10, every: '1s', mode: 'interval' })).toEqual(
      interval,
    );
  });

  it('is returned as it is if it was made here', () => {
    expect(parsePolicy(fixed)).toBe(fixed);
  });

  it('is not followed when it changes, and has one rule', () => {
    const mine = { ...fixed, limit: 3 };
    const parsed = parsePolicy(mine);
    mine.limit = 500;

    expect(compile(parsed).limit).toBe(3);
    expect(compile(parsed)).toBe(compile(parsed));
  });

  it.each<[unknown, RegExp]>([
    [fixedWindow, /policy must be .*, got the function fixedWindow, which was not called; write fixedW/],
    [undefined, /got undefined \[/],
    [null, /got null/],
    [[fixed], /got an array of 1/],
    [{ limit: 5 }, /got an object with limit \[/],
    [{ algorithm: 'magic' }, /known algorithms: .*intervalBucket/],
    [{ algorithm: 'constructor' }, /known algorithms/],
    [{ ...fixed, limit: 0.5 }, /limit must be a whole number .* got 0\.5/],
    [{ ...fixed, windowMs: null }, /window must be a duration .* got null/],
    [{ ...fixed, burst: 5 }, /fixedWindow has no option "burst"/],
  ])('is rejected if it is not one: %p', (given, message) => {
    expect(() => parsePolicy(given)).toThrow(message);
  });

  it('is the same as another if all of its numbers and names are', () => {
    const copy = JSON.parse(JSON.stringify(bucket)) as Policy;

    expect(isSamePolicy(bucket, copy)).toBe(true);
    expect(isSamePolicy(bucket, { ...copy, name: 'other' })).toBe(false);
    expect(isSamePolicy(bucket, interval)).toBe(false);
  });
});

describe('a share of a policy', () => {
  it.each<[string, Policy, Share, object]>([
    ['a part of a window', fixed, 0.25, { limit: 2, windowMs: 60_000 }],
    ['no less than one unit', fixed, 0.01, { limit: 1 }],
    ['nothing of nothing', fixedWindow({ limit: 0, window: '1s' }), 0.5, { limit: 0 }],
    ['no unit lost to rounding', fixedWindow({ limit: 100, window: '1s' }), 0.29, { limit: 29 }],
    ['a part of a sliding window', sliding, 1 / 3, { limit: 3, windowMs: 60_000, precisionMs: 6_000 }],
    ['a part of a counter', counter, 0.5, { limit: 3 }],
    ['a part of a log', log, 0.5, { limit: 3 }],
    ['some of the slots', slots, 0.5, { limit: 2 }],
    ['a smaller, slower bucket', bucket, 0.25, { capacity: 5, refill: 10, everyMs: 4_000, overdraft: 1 }],
    ['a part of what comes back at once', interval, 0.25, { capacity: 5, refill: 2, everyMs: 1_000 }],
    ['one unit at once, less often', interval, 0.05, { capacity: 1, refill: 1, everyMs: 2_000 }],
    ['a slower pace', leaky, 0.25, { limit: 60, windowMs: 240_000, maxDelayMs: 2_500 }],
    ['exactly these units', sliding, { units: 4, weight: 1, total: 2 }, { limit: 4 }],
    ['this rate', bucket, { units: 6, weight: 2, total: 7 }, { capacity: 6, refill: 1, everyMs: 350, overdraft: 1 }],
    ['no unit at all, for a bucket too', bucket, { units: 0, weight: 1, total: 50 }, { capacity: 0, overdraft: 0 }],
  ])('is %s', (_what, policy, share, expected) => {
    expect(scalePolicy({ ...policy, name: 'api' }, share)).toMatchObject({ ...expected, name: 'api' });
  });

  it('is rejected if it cannot be counted', () => {
    const slow = leakyBucket({ limit: 1, window: '36500d', maxDelay: 0 });

    expect(() => scalePolicy(slow, 0.5)).toThrow(/window must be .* to 36500d/);
  });

  it('has a rate of at most its weight, and the exact one if that can be counted', () => {
    const whole = fc.integer({ min: 1, max: 1e6 });

    fc.assert(
      fc.property(whole, whole, whole, fc.integer({ min: 1, max: 99 }), (refill, seconds, weight, others) => {
        const every = seconds * 1_000;
        const total = weight + others;
        const policy = tokenBucket({ capacity: 5, refill, every });

        const { refill: part, everyMs } = scalePolicy(policy, { units: 3, weight, total });

        const [got, due] = [BigInt(part) * BigInt(every * total), BigInt(refill * weight) * BigInt(everyMs)];
        expect(got).toBeLessThanOrEqual(due);
        expect(got === due || every * total > MAX_DURATION_MS).toBe(true);
      }),
      { numRuns: cases(200), seed: testSeed(42) },
    );
  });
});
