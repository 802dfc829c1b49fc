import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, rateLimit, tokenBucket, type RateLimitOptions } from '@sluice/express';

const policy = fixedWindow({ limit: 1, window: '1h' });
const limits = [{ name: 'a', policy }];
const limiter = createLimiter({ policy });

describe('an unknown option', () => {
  it.each([
    ...['windowMs window', 'timeWindow window', 'duration window', 'ttl window', 'max limit', 'points limit'],
    ...['limits_ limits', 'Limit limit', 'keyGenerator key', 'keys key', 'handler onDenied', 'message onDenied'],
    ...['statusCode status', 'onDenie onDenied', 'ondenied onDenied', 'onDecisions onDecision', 'onlimit limit'],
    ...['standardHeaders headers', 'legacyHeaders headers', 'header headers', 'skips skip', 'weight cost'],
    ...['algorithm policy', 'polcy policy', 'redis store', 'timeout timeoutMs', 'timeoutMS timeoutMs'],
    ...['passOnStoreError onStoreError', 'onStoreErrors onStoreError', 'onMissingkey onMissingKey', 'throws throw'],
  ])('is an error that suggests the right one: %s', (pair) => {
    const [field = '', meant = ''] = pair.split(' ');

    expect(() => rateLimit({ policy, [field]: 1 } as unknown as RateLimitOptions)).toThrow(
      expect.objectContaining({
        ...{ name: 'PolicyError', code: 'SLUICE_OPTION_UNKNOWN', field },
        message: expect.stringMatching(
          `^rateLimit has no option "${field}" \\(got 1\\); did you mean ("${meant}"|${meant}: .*)\\?`,
        ) as unknown,
      }),
    );
  });
});

describe('an option that cannot be used', () => {
  it.each<[string, object, string]>([
    ['a request', { _events: {}, res: {} }, 'got a request; write rateLimit({ limit'],
    ['a limiter that is none', { limiter: {} }, 'limiter must be made by createLimiter()'],
    ['limiter beside its own options', { limiter, name: 'x' }, 'limiter, got "x"; set it in the createLimiter('],
    ['a limiter with several limits', { limiter: createLimiter({ limits }) }, 'limiter must be one with a single key'],
    ['limits beside a key', { limits, key: () => 'k' }, 'key cannot be combined with limits'],
    ['no limits', { limits: [] }, 'limits must be a list such as [{ name: "per-ip"'],
    ['two limits of one name', { limits: [...limits, { name: 'A', policy }] }, 'got "a" and "A"; give'],
    ['an unknown option of one', { limits: [{ name: 'a', policy, max: 1 }] }, 'limits[0] has no option "max"'],
    ['a function as limit', { limit: () => 5, window: '1m' }, 'limit must be a number, got a function'],
    ['a policy that was not called', { policy: tokenBucket }, 'the function tokenBucket, which was not called'],
    ['a status that is no failure', { policy, status: { denied: 200 } }, 'status.denied must be'],
    ['two drafts', { policy, headers: ['draft-7', 'draft-6'] }, 'a list of these with one draft at most'],
    ['a range that is none', { policy, deny: ['10.0.0.0/33'] }, 'deny[0] must be an address, a CIDR range'],
    ['a refund that is none', { policy, refund: 'always' }, 'refund'],
    ['localShare without its mode', { policy, onStoreError: 'deny', localShare: 0.5 }, 'localShare must be left out'],
    ['a store that is none', { policy, store: 'redis://127.0.0.1' }, 'store must be memoryStore() or redisStore('],
  ])('is an error that says what to write: %s', (_what, options, message) => {
    expect(() => rateLimit(options as RateLimitOptions)).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringContaining(message) as unknown }),
    );
  });
});
