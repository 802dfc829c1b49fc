import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { PolicyError } from '../../src/errors.ts';
import { MAKERS } from '../../src/policies/index.ts';
import '../../src/values/names-elsewhere.ts';

/** What a caller without types can write. */
const make = MAKERS as unknown as Readonly<Record<keyof typeof MAKERS, (...args: unknown[]) => unknown>>;
const fixed = (options: object): unknown => make.fixedWindow({ limit: 5, window: '1m', ...options });
const sliding = (options: object): unknown => make.slidingWindow({ limit: 5, window: '1m', ...options });
const bucket = (options: object): unknown => make.tokenBucket({ capacity: 5, refill: 1, every: '1s', ...options });

describe('the value of an option that cannot be used', () => {
  it.each<[what: string, make: () => unknown, field: string, text: RegExp]>([
    ['limit 0.5', () => fixed({ limit: 0.5 }), 'limit', /from 0 to 999999999999999, got 0\.5; .*longer window/],
    ['limit -1', () => fixed({ limit: -1 }), 'limit', /got -1 \[/],
    ['limit -0', () => fixed({ limit: -0 }), 'limit', /got -0/],
    ['limit NaN', () => fixed({ limit: Number.NaN }), 'limit', /got NaN/],
    ['limit "5"', () => fixed({ limit: '5' }), 'limit', /got "5"; write limit: 5 \[/],
    ['limit " 5"', () => fixed({ limit: ' 5' }), 'limit', /; write limit: 5 \[/],
    ['limit "-1"', () => fixed({ limit: '-1' }), 'limit', /got "-1" \[/],
    ['limit 5n', () => fixed({ limit: 5n }), 'limit', /got 5n/],
    [
      'limit Infinity',
      () => fixed({ limit: Infinity }),
      'limit',
      /got Infinity; to limit nothing, leave the policy out/,
    ],
    ['limit 10^15', () => sliding({ limit: 1e15 }), 'limit', /999999999999999, got 1000000000000000/],
    ['no limit', () => sliding({ limit: undefined }), 'limit', /got undefined; write for example limit: 100/],
    [
      'a log of 1001',
      () => make.slidingLog({ limit: 1001, window: '1s' }),
      'limit',
      /from 0 to 1000, .*use slidingWindow/,
    ],
    ['1001 slots', () => make.concurrency({ limit: 1001, ttl: '1m' }), 'limit', /from 0 to 1000, .*several keys/],
    [
      'capacity 0',
      () => bucket({ capacity: 0 }),
      'capacity',
      /got 0; to deny everything, write fixedWindow\(\{ limit: 0/,
    ],
    ['refill 0', () => bucket({ refill: 0 }), 'refill', /from 1 to .*, got 0/],
    ['overdraft -1', () => bucket({ overdraft: -1 }), 'overdraft', /from 0 to .*got -1/],
    ['a pace of 0', () => make.leakyBucket({ limit: 0, window: '1s', maxDelay: 0 }), 'limit', /from 1 to .*, got 0/],
    [
      'a span in parsecs',
      () => fixed({ window: '10 parsecs' }),
      'window',
      /"60s", got "10 parsecs"; known units: ms, s, m/,
    ],
    ['no window', () => fixed({ window: undefined }), 'window', /got undefined/],
    ['align "noon"', () => fixed({ align: 'noon' }), 'align', /"first-hit" or "clock", got "noon"/],
    ['mode "drip"', () => bucket({ mode: 'drip' }), 'mode', /"continuous" or "interval", got "drip"/],
    ['blockFor 0', () => fixed({ blockFor: 0 }), 'blockFor', /from 1 to 36500d, got 0/],
    [
      'a precision that does not divide',
      () => sliding({ precision: '7s' }),
      'precision',
      /divide the window of 60000 ms, got "7s"; 6000 is/,
    ],
    ['101 blocks', () => sliding({ window: '1010ms', precision: '10ms' }), 'precision', /at least 11 ms .* got "10ms"/],
    ['a precision beyond the window', () => sliding({ precision: '2m' }), 'precision', /at most the window, got "2m"/],
    ['name "café"', () => fixed({ name: 'café' }), 'name', /letter followed by up to 63.*got "café"/],
    ['a name of 65', () => fixed({ name: 'x'.repeat(65) }), 'name', /up to 63/],
  ])('is rejected with what to write: %s', (_what, call, field, text) => {
    expect(call).toThrow(expect.objectContaining({ name: 'PolicyError', code: 'SLUICE_POLICY_INVALID', field }));
    expect(call).toThrow(text);
  });

  it.each<[what: string, call: () => unknown, code: string, field: string, text: RegExp]>([
    [
      'a name elsewhere',
      () => fixed({ windowMs: 60_000 }),
      'UNKNOWN',
      'windowMs',
      /no option "windowMs" \(got 60000\); did you mean "window"\?/,
    ],
    ['a misspelt name', () => fixed({ limt: 5 }), 'UNKNOWN', 'limt', /did you mean "limit"\?/],
    [
      'something unheard of',
      () => fixed({ xyzzy: 1 }),
      'UNKNOWN',
      'xyzzy',
      /known: limit, window, align, blockFor and name \[/,
    ],
    [
      'no options',
      () => make.fixedWindow(),
      'INVALID',
      'fixedWindow',
      /an object with limit, window, align, blockFor and name, got undefined/,
    ],
    [
      'numbers one by one',
      () => make.fixedWindow(100, '1m'),
      'INVALID',
      'fixedWindow',
      /got 100; write for example \{ limit: 100/,
    ],
    [
      'blockFor of slots',
      () => make.concurrency({ limit: 1, ttl: '1s', blockFor: 1 }),
      'UNKNOWN',
      'blockFor',
      /known: limit, ttl and name/,
    ],
  ])('is not looked at while options are no object or unknown: %s', (_what, call, code, field, text) => {
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
