import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/core';
import { atPlace, byIp, Place } from '@sluice/core/http';
import { place, plainFramework, remembering, sending } from './plain-framework.ts';

const policy = fixedWindow({ limit: 5, window: '1m' });
const entry = { name: 'a', policy };
const A_KEY = 'byIp(), byRoute(), byUser() or the like, a function of the request, or a list of these';

describe('an option', () => {
  it.each<[option: string, expected: string, ...values: unknown[]]>([
    ['mode', '"enforce" or "report"', 'shadow', null],
    ['preflights', '"separate", "count" or "skip"', 'deny', true],
    ['cors', 'true or false', '*', null],
    ['throw', 'true or false', 1],
    ['skip', 'a function', '/health', null],
    ['onDenied', 'a function', 429],
    ['onDecision', 'a function', 'log'],
    ['allow', 'a list of addresses, CIDR ranges such as "10.0.0.0/8", or keys', '::1', new Set(['::1']), () => true],
    ['refund', '"on-success", "on-failure" or a function of request and response', 'success', true],
    ['maxSlotMs', 'a whole number of milliseconds from 1 to 2147483647', 0, 0.5, 2 ** 31, '1m'],
    ['maxPaced', 'a whole number from 0 to 9007199254740991', -1, 0.5, NaN, '10'],
    ['onMissingKey', '"deny", "skip" or "shared"', 'allow', null],
    ['cost', 'a whole number, at least 1, or a function of the request', 0, -1, 0.5, '1', null],
    ['key', A_KEY, 'ip', 5, null, [byIp(), 1]],
    ['limiter', 'made by createLimiter()', {}, null, memoryStore(), { ...createLimiter({ policy }) }],
  ])('%s must be %s: what was given is told, and no name is taken', (option, expected, ...values) => {
    const store = remembering();
    const limits = option === 'limiter' ? {} : { policy, store };
    for (const value of values) {
      expect(() => place({ ...limits, [option]: value })).toThrow(
        expect.objectContaining({
          ...{ name: 'PolicyError', code: 'SLUICE_OPTION_INVALID', field: option },
          message: expect.stringContaining(`${option} must be ${expected}, got `),
        }),
      );
    }
    expect(() => place({ policy, store })).not.toThrow();
    expect(store.ops).toEqual([]);
  });

  it.each<[object, string, string]>([
    [{ refund: { when: 'always' } }, 'refund.when', 'must be "on-success", "on-failure" or a function'],
    [{ refund: { when: 'on-success', onAborted: 1 } }, 'onAborted', '(got 1); did you mean "onAbort"?'],
    [{ status: 429 }, 'status', 'takes an object with denied, blocked, deny and missingKey, got 429'],
    [{ status: { denied: 200 } }, 'status.denied', 'must be a whole number from 400 to 599, got 200'],
    [{ retryAfter: 0 }, 'retryAfter', 'must be '],
    [{ key: [] }, 'key', 'must have at least one part, got an empty list'],
    [{ key: [byIp] }, 'key', 'must be the result of byIp(), got the function itself; write byIp()'],
    [{ limit: 5 }, 'policy', 'rateLimit takes policy, or limit and window, got both'],
    [{ policy: undefined }, 'policy', 'rateLimit needs limit and window'],
    [{ whitelist: ['::1'] }, 'whitelist', '(got an array of 1); did you mean "allow"?'],
    ...['Limit limit', 'onDenie onDenied', 'keys key', 'weight cost', 'timeoutMS timeoutMs', 'throws throw'].map(
      (pair): [object, string, string] => {
        const [name = '', meant = ''] = pair.split(' ');
        return [{ [name]: 1 }, name, `rateLimit has no option "${name}" (got 1); did you mean "${meant}"?`];
      },
    ),
    [
      { policy: undefined, limiter: createLimiter({ limits: [entry] }) },
      ...(['limiter', 'limiter must have a single key, got one with the limits "a";'] as const),
    ],
    [{ limits: [entry] }, 'policy', 'write it into the entries of limits instead'],
    ...Object.entries({ shared: true, store: memoryStore(), timeoutMs: 5 }).map(
      ([name, value]): [object, string, string] => [
        { policy: undefined, limiter: createLimiter({ policy }), [name]: value },
        ...([name, '; set it in the createLimiter() call instead'] as const),
      ],
    ),
  ])('%j is an error of %s', (options, field, message) => {
    expect(() => place({ policy, ...options })).toThrow(
      expect.objectContaining({ name: 'PolicyError', field, message: expect.stringContaining(message) }),
    );
  });

  it.each<[unknown, string]>([
    [[], 'limits must be a list such as [{ name: "per-ip", '],
    [[null], 'limits[0] takes an object with name, policy, key, cost and onMissingKey, got null'],
    [[entry, { ...entry, name: 'A' }], 'names must be unique regardless of case, got "a" and "A"'],
    [[{ ...entry, cost: -1 }], 'limits[0].cost must be '],
    [[{ ...entry, key: [1] }], 'limits[0].key must be byIp()'],
    [
      [{ name: 'a', limit: 5, window: '1m' }],
      'limits[0] has no options "limit" (got 5; did you mean "policy"?), "window" (got "1m"',
    ],
    [[{ ...entry, windowMs: 5 }], 'limits[0] has no option "windowMs" (got 5); did you mean '],
  ])('limits: %j is an error of its entry', (limits, message) => {
    expect(() => place({ limits })).toThrow(message);
  });
});

describe('a limit', () => {
  it.each([{}, { limits: [entry], policy: undefined }, { key: () => 'k', allow: ['::1'] }])(
    'that needs an address is an error if requests have none: %j',
    (options) => {
      const framework = { ...plainFramework, noAddress: 'pass the option address' };

      expect(() => new Place({ policy, ...options }, framework)).toThrow(
        /^(key|limits\[0\]\.key|allow) needs the client's address, .*; pass the option address \[/,
      );
    },
  );

  it.each<[unknown, string]>([
    [{ allowed: true }, 'policy must be a policy made by fixedWindow'],
    [policy, 'a policy that a function returns needs a name'],
    [[entry, { ...entry, name: 'A' }].map(({ name }) => ({ ...policy, name })), 'names must be unique'],
    [[], 'policy must be a policy or a list of them, got an empty list'],
    [undefined, 'policy must be'],
  ])('that a function of the request returns is a policy with a name: %j', async (returned, message) => {
    await expect(sending({ policy: () => returned })()).rejects.toThrow(message);
  });

  it.each([{ _events: {} }, { res: {} }])('is not read from the request of app.use(rateLimit): %j', (request) => {
    expect(() => place(request)).toThrow('rateLimit takes options and returns the handler, got a request');
  });

  it('is not made without options', () => {
    expect(() => place(null as never)).toThrow(/^rateLimit takes an object of options, got null; write/);
  });

  it.each<[object, RegExp]>([
    [{ polcy: 1 }, /^config.rateLimit of GET \/ has no option "polcy".* \[SLUICE_OPTION_UNKNOWN\]$/],
    [{ policy, cors: 1 }, /^config.rateLimit of GET \/: cors must be true or false, got 1 \[SLUICE_OPTION_INVALID\]$/],
  ])('that stands elsewhere names its place in errors: %j', (options, expected) => {
    expect(() => atPlace('config.rateLimit of GET /', () => place(options))).toThrow(expected);
  });
});
