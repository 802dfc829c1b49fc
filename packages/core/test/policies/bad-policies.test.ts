import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { PolicyError } from '../../src/errors.ts';
import { MAKERS } from '../../src/policies/index.ts';
import '../../src/values/names-elsewhere.ts';

/** What a caller without types can write. */
const make = MAKERS as unknown as Readonly<Record<keyof typeof MAKERS, (...args: unknown[]) => unknown>>;
const GOOD = {
  fixedWindow: { limit: 5, window: '1m' },
  slidingWindow: { limit: 5, window: '1m' },
  slidingLog: { limit: 5, window: '1m' },
  tokenBucket: { capacity: 5, refill: 1, every: '1s' },
  leakyBucket: { limit: 5, window: '1m', maxDelay: 0 },
  concurrency: { limit: 5, ttl: '1m' },
} as const;
const bucket = (options: object): unknown => make.tokenBucket({ ...GOOD.tokenBucket, ...options });

describe('an option that cannot be used', () => {
  it.each<[of: keyof typeof GOOD, options: object, text: RegExp]>([
    ['fixedWindow', { limit: 0.5 }, /from 0 to 999999999999999, got 0\.5; .*longer window/],
    ['fixedWindow', { limit: -1 }, /got -1 \[/],
    ['fixedWindow', { limit: -0 }, /got -0/],
    ['fixedWindow', { limit: Number.NaN }, /got NaN/],
    ['fixedWindow', { limit: '5' }, /got "5"; write limit: 5 \[/],
    ['fixedWindow', { limit: ' 5' }, /; write limit: 5 \[/],
    ['fixedWindow', { limit: '-1' }, /got "-1" \[/],
    ['fixedWindow', { limit: 5n }, /got 5n/],
    ['fixedWindow', { limit: Infinity }, /got Infinity; to limit nothing, leave the policy out/],
    ['slidingWindow', { limit: 1e15 }, /999999999999999, got 1000000000000000/],
    ['slidingWindow', { limit: undefined }, /got undefined; write, for example, limit: 100/],
    ['slidingLog', { limit: 1001 }, /from 0 to 1000, .*use slidingWindow/],
    ['concurrency', { limit: 1001 }, /from 0 to 1000, .*several keys/],
    ['tokenBucket', { capacity: 0 }, /got 0; to deny everything, write fixedWindow\(\{ limit: 0/],
    ['tokenBucket', { refill: 0 }, /from 1 to .*, got 0/],
    ['tokenBucket', { overdraft: -1 }, /from 0 to .*got -1/],
    ['leakyBucket', { limit: 0 }, /from 1 to .*, got 0/],
    ['fixedWindow', { window: '10 parsecs' }, /"60s", got "10 parsecs"; known units: ms, s, m/],
    ['fixedWindow', { window: undefined }, /got undefined/],
    ['fixedWindow', { align: 'noon' }, /"first-hit" or "clock", got "noon"/],
    ['tokenBucket', { mode: 'drip' }, /"continuous" or "interval", got "drip"/],
    ['fixedWindow', { blockFor: 0 }, /from 1 to 36500d, got 0/],
    ['slidingWindow', { precision: '7s' }, /divide the window of 60000 ms, got "7s"; 6000 is/],
    ['slidingWindow', { precision: '10ms', window: '1010ms' }, /at least 11 ms .* got "10ms"/],
    ['slidingWindow', { precision: '2m' }, /at most the window, got "2m"/],
    ['fixedWindow', { name: 'café' }, /letter followed by up to 63.*got "café"/],
    ['fixedWindow', { name: 'x'.repeat(65) }, /up to 63/],
  ])('of %s is rejected with what to write: %p', (of, options, text) => {
    const call = (): unknown => make[of]({ ...GOOD[of], ...options });

    const [field] = Object.keys(options);
    expect(call).toThrow(expect.objectContaining({ name: 'PolicyError', code: 'SLUICE_POLICY_INVALID', field }));
    expect(call).toThrow(text);
  });

  it.each<[of: keyof typeof GOOD, args: unknown[], code: string, field: string, text: RegExp]>([
    ['fixedWindow', [{ windowMs: 60_000 }], 'UNKNOWN', 'windowMs', /"windowMs" \(got 60000\); did you mean "window"\?/],
    ['fixedWindow', [{ limt: 5 }], 'UNKNOWN', 'limt', /did you mean "limit"\?/],
    ['fixedWindow', [{ xyzzy: 1 }], 'UNKNOWN', 'xyzzy', /known: limit, window, align, blockFor and name \[/],
    ['fixedWindow', [], 'INVALID', 'fixedWindow', /with limit, window, align, blockFor and name, got undefined/],
    ['fixedWindow', [100, '1m'], 'INVALID', 'fixedWindow', /got 100; write, for example, \{ limit: 100/],
    ['concurrency', [{ ...GOOD.concurrency, blockFor: 1 }], 'UNKNOWN', 'blockFor', /known: limit, ttl and name/],
  ])('of %s is not looked at while options are no object or unknown: %j', (of, args, code, field, text) => {
    const call = (): unknown => make[of](...args);

    expect(call).toThrow(expect.objectContaining({ name: 'PolicyError', code: `SLUICE_OPTION_${code}`, field }));
    expect(call).toThrow(text);
  });
});

describe('numbers that are too large together', () => {
  const most = (call: () => unknown): number => {
    try {
      call();
    } catch (error) {
      return Number(/at most (\d+)/.exec((error as PolicyError).message)?.[1]);
    }
    return Number.NaN;
  };

  it.each<[kind: string, make: (units: number, length: string) => unknown]>([
    ['a bucket', (units, every) => bucket({ capacity: units - 1, overdraft: 1, refill: 7, every })],
    ['a bucket that is refilled at intervals', (units, every) => bucket({ capacity: units, every, mode: 'interval' })],
    ['a counter', (units, window) => make.slidingCounter({ limit: units, window })],
  ])('are rejected with the largest that can be counted: %s', (_kind, call) => {
    const lengths = fc.integer({ min: 1, max: 36_500 * 86_400_000 });

    fc.assert(
      fc.property(lengths, (ms) => {
        const max = most(() => call(1e15 - 1, `${String(ms)}ms`));
        fc.pre(!Number.isNaN(max));

        call(max, `${String(ms)}ms`);
        expect(() => call(max + 1, `${String(ms)}ms`)).toThrow(PolicyError);
      }),
      { numRuns: cases(200), seed: testSeed(7) },
    );
  });

  it('are rejected with the longest wait that can be counted: a leaky bucket', () => {
    const leaky = (maxDelay: number): unknown => make.leakyBucket({ limit: 99_999_999_999, window: '1h', maxDelay });
    const max = most(() => leaky(86_400_000));

    expect(max).toBeGreaterThan(0);
    expect(() => leaky(max)).not.toThrow();
  });
});
