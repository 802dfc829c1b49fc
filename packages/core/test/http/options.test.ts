import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/core';
import { atPlace, byIp, Place } from '@sluice/core/http';
import { place, plainFramework, remembering, sending } from './plain-framework.ts';

const policy = fixedWindow({ limit: 5, window: '1m' });
const entry = { name: 'a', policy };

describe('a bad value', () => {
  it.each<[option: string, values: readonly unknown[], expected: string, field?: string]>([
    ['mode', ['shadow', null], 'mode must be "enforce" or "report", got '],
    ['preflights', ['deny', true], 'preflights must be "separate", "count" or "skip", got '],
    ['cors', ['*', null], 'cors must be true or false, got '],
    ['throw', [1], 'throw must be true or false, got '],
    ['skip', ['/health', null], 'skip must be a function, got '],
    ['onDenied', [429], 'onDenied must be a function, got '],
    ['onDecision', ['log'], 'onDecision must be a function, got '],
    ['allow', ['10.0.0.0/8', () => true, new Set(['::1'])], 'allow must be a list of addresses, CIDR ranges'],
    ['deny', [['::1', '1.2.3.4/99']], 'deny[1] must be an address, a CIDR range', 'deny[1]'],
    [
      'refund',
      ['success', true],
      'refund must be "on-success", "on-failure" or a function of request and response, got ',
    ],
    ['refund', [{ when: 'always' }, {}], 'refund.when must be "on-success", "on-failure" or a function', 'refund.when'],
    ['refund', [{ when: 'on-success', onAbort: 1 }], 'refund.onAbort must be true or false, got 1', 'refund.onAbort'],
    ['refund', [['on-success']], 'refund takes an object with when and onAbort, got an array of 1'],
    ['status', [429], 'status takes an object with denied, blocked, deny and missingKey, got 429'],
    [
      'status',
      [{ denied: 200 }, { denied: null }],
      'status.denied must be a whole number from 400 to 599',
      'status.denied',
    ],
    ['retryAfter', [0, 'soon', null], 'retryAfter must be '],
    [
      'maxSlotMs',
      [0, 0.5, 2 ** 31, '1m'],
      'maxSlotMs must be a whole number of milliseconds from 1 to 2147483647, got ',
    ],
    ['maxPaced', [-1, 0.5, NaN, '10'], 'maxPaced must be a whole number of requests, at least 0, got '],
    ['onMissingKey', ['allow', null], 'onMissingKey must be "deny", "skip" or "shared", got '],
    ['cost', [0, -1, 0.5, '1', null], 'cost must be a whole number, at least 1, or a function of the request, got '],
    [
      'key',
      ['ip', 5, null, [byIp(), 1]],
      'key must be byIp(), byRoute(), byUser() or the like, a function of the request, or a list of these, got ',
    ],
    ['key', [[]], 'key must have at least one part, got an empty list'],
    ['key', [byIp, [byIp]], 'key must be the result of byIp(), got the function itself; write byIp()'],
    [
      'policy',
      [fixedWindow],
      'policy must be a policy, or a function of the request that returns one, got the function fixedWindow, which was not called; write policy: fixedWindow({ ... })',
    ],
    ['limit', [5], 'rateLimit takes policy, or limit and window, got both', 'policy'],
  ])(
    'of %s: %j is rejected by its name, and takes no name on the store',
    (option, values, expected, field = option) => {
      const store = remembering();
      for (const value of values) {
        expect(() => place({ policy, store, [option]: value })).toThrow(
          expect.objectContaining({ name: 'PolicyError', field, message: expect.stringContaining(expected) }),
        );
      }
      expect(() => place({ policy, store })).not.toThrow();
      expect(store.ops).toEqual([]);
    },
  );

  it.each<[object, string]>([
    [{ limits: [] }, 'limits must be a list such as [{ name: "per-ip", '],
    [{ limits: 5, window: '1m' }, 'window cannot be combined with limits'],
    [{ limits: [null] }, 'limits[0] takes an object with name, policy, key, cost and onMissingKey, got null'],
    [{ limits: [entry, { ...entry, name: 'A' }] }, 'names must be unique without regard to case, got "a" and "A"'],
    [{ limits: [{ ...entry, name: 'café' }] }, 'limits[0].name must be '],
    [{ limits: [{ ...entry, cost: -1 }] }, 'limits[0].cost must be '],
    [{ limits: [{ ...entry, key: [1] }] }, 'limits[0].key must be byIp()'],
    [{ limits: [{ ...entry, windowMs: 5 }] }, 'limits[0] has no option "windowMs" (got 5); did you mean '],
    [
      { limits: [entry], key: byIp() },
      'key cannot be combined with limits; write it into the entries of limits instead, got ',
    ],
    [{ limit: () => 5, window: '1m' }, 'if requests have limits of their own write policy: (request) => policy'],
    [{ policy: [] }, 'policy'],
    [{ policy: { limit: 5 } }, 'policy'],
    [
      { policy, refund: { when: 'on-success', onAborted: true } },
      'refund has no option "onAborted" (got true); did you mean "onAbort"?',
    ],
    [{ policy, whitelist: ['::1'] }, 'rateLimit has no option "whitelist" (got an array of 1); did you mean "allow"?'],
    [{ _events: {}, method: 'GET' }, 'rateLimit takes options and returns the handler, got a request'],
    [{}, 'rateLimit needs limit and window'],
  ])('%j is a PolicyError', (options, expected) => {
    expect(() => place(options)).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringContaining(expected) }),
    );
  });
});

describe('the option limiter', () => {
  it.each([{}, null, memoryStore(), { ...createLimiter({ policy }) }])('cannot be %p', (limiter) => {
    expect(() => place({ limiter })).toThrow(/^limiter must be made by createLimiter\(\), got /);
  });

  it('cannot be one of several limits', () => {
    const limiter = createLimiter({ limits: [entry, { ...entry, name: 'b' }] });

    expect(() => place({ limiter })).toThrow('limiter must be one with a single key, got one with the limits a and b;');
  });

  it.each(['policy', 'limits', 'name', 'shared', 'store', 'timeoutMs', 'denialCache'])('excludes %s', (name) => {
    expect(() => place({ limiter: createLimiter({ policy }), [name]: 1 })).toThrow(
      `${name} cannot be combined with limiter; set it in the createLimiter() call instead, got 1`,
    );
  });

  it('is an error for each request once it is closed', async () => {
    const limiter = createLimiter({ policy });
    const send = sending({ limiter });

    await limiter.close();

    await expect(send()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });
});

describe('a framework without addresses', () => {
  const noAddress = 'pass the option address';

  it.each<[object, string]>([
    [{}, 'key needs the client'],
    [{ limits: [entry] }, 'limits[0].key needs the client'],
    [{ key: () => 'k', allow: ['::1'] }, 'allow needs the client'],
  ])('rejects %j when it is made', (options, expected) => {
    const own = 'limits' in options ? options : { policy, ...options };

    expect(() => new Place(own as never, { ...plainFramework, noAddress })).toThrow(
      expect.objectContaining({
        field: 'address',
        message: expect.stringMatching(`^${expected.replace(/[[\].]/g, '\\$&')}.*; ${noAddress}`),
      }),
    );
  });
});

describe('an error of options that stand elsewhere', () => {
  it.each<[object, RegExp]>([
    [{ polcy: 1 }, /^config.rateLimit of GET \/ has no option "polcy".* \[SLUICE_OPTION_UNKNOWN\]$/],
    [{ policy, cors: 1 }, /^config.rateLimit of GET \/: cors must be true or false, got 1 \[SLUICE_OPTION_INVALID\]$/],
  ])('names their place: %j', (options, expected) => {
    expect(() => atPlace('config.rateLimit of GET /', () => place(options))).toThrow(expected);
  });
});
