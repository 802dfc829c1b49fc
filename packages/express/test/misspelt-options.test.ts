import { describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  fixedWindow,
  memoryStore,
  rateLimit,
  redisStore,
  slidingWindow,
  tokenBucket,
  type RateLimitOptions,
} from '@sluice/express';

const policy = fixedWindow({ limit: 1, window: '1h' });

describe.each<[string, string]>([
  ['windowMs', 'window'],
  ['timeWindow', 'window'],
  ['duration', 'window'],
  ['ttl', 'window'],
  ['max', 'limit'],
  ['points', 'limit'],
  ['limits_', 'limits'],
  ['Limit', 'limit'],
  ['keyGenerator', 'key'],
  ['keys', 'key'],
  ['handler', 'onDenied'],
  ['message', 'onDenied'],
  ['statusCode', 'status'],
  ['onDenie', 'onDenied'],
  ['ondenied', 'onDenied'],
  ['onDecisions', 'onDecision'],
  ['onlimit', 'limit'],
  ['standardHeaders', 'headers'],
  ['legacyHeaders', 'headers'],
  ['header', 'headers'],
  ['skips', 'skip'],
  ['weight', 'cost'],
  ['algorithm', 'policy'],
  ['polcy', 'policy'],
  ['redis', 'store'],
  ['timeout', 'timeoutMs'],
  ['timeoutMS', 'timeoutMs'],
  ['passOnStoreError', 'onStoreError'],
  ['onStoreErrors', 'onStoreError'],
  ['onMissingkey', 'onMissingKey'],
  ['throws', 'throw'],
  ['nam', 'name'],
])('the option %s', (option, meant) => {
  it(`is denied, and ${meant} suggested`, () => {
    const options = { policy, [option]: 1 } as unknown as RateLimitOptions;

    expect(() => rateLimit(options)).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        code: 'SLUICE_OPTION_UNKNOWN',
        field: option,
        message: expect.stringMatching(
          `^rateLimit has no option "${option}" \\(got 1\\); did you mean ("${meant}"|${meant}: .*)\\?`,
        ) as unknown,
      }),
    );
  });
});

describe('an option that is like none', () => {
  it('is denied with a list of those there are', () => {
    const options = { policy, xyzzyplugh: 1 } as unknown as RateLimitOptions;

    expect(() => rateLimit(options)).toThrow(
      /^rateLimit has no option "xyzzyplugh" \(got 1\); known: limit, window, policy, limits, /,
    );
  });

  it.each(['constructor', 'toString', '__proto'])('is denied when it is called %s', (option) => {
    const options = Object.defineProperty({ policy }, option, {
      value: 1,
      enumerable: true,
    }) as unknown as RateLimitOptions;

    expect(() => rateLimit(options)).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_UNKNOWN', field: option }));
  });
});

describe('a misspelt option of a part', () => {
  it.each<[string, () => unknown, string]>([
    [
      'fixedWindow',
      () => fixedWindow({ max: 5, window: '1m' } as never),
      'fixedWindow has no option "max" (got 5); did you mean limit: 5?',
    ],
    [
      'slidingWindow',
      () => slidingWindow({ limit: 5, windowMs: 60_000 } as never),
      'slidingWindow has no option "windowMs" (got 60000); did you mean window: "1m"?',
    ],
    [
      'tokenBucket',
      () => tokenBucket({ capacity: 5, refillRate: 1, every: '1s' } as never),
      'tokenBucket has no option "refillRate" (got 1); did you mean refill: 1?',
    ],
    [
      'memoryStore',
      () => memoryStore({ maxkeys: 5 } as never),
      'memoryStore has no option "maxkeys" (got 5); did you mean "maxKeys"?',
    ],
    [
      'redisStore',
      () => redisStore('redis://127.0.0.1', { prefix: 'sluice', keyPrefix: 'a' } as never),
      'redisStore has no option "keyPrefix" (got "a"); did you mean prefix: "a"?',
    ],
    [
      '@RateLimit',
      () => RateLimit({ policy, windowMs: 1 } as never),
      'rateLimit has no option "windowMs" (got 1); did you mean window: "1ms"?',
    ],
  ])('is denied by %s', (_name, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringContaining(message) as unknown }),
    );
  });
});
