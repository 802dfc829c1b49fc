import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, slidingWindow, tokenBucket, type Policy, type Store } from '@sluice/old-core';
import { testEnforcer, type TestOptions } from '@sluice/testkit';

/** A store that says whether it was ever asked. */
function watchedStore(): Store & { asked: number } {
  const store = memoryStore();
  return {
    source: 'memory',
    asked: 0,
    perform(requests) {
      this.asked++;
      return store.perform(requests);
    },
  };
}

const policy = fixedWindow({ limit: 5, window: '1m' });
const window = (limit: unknown, windowMs: unknown): Policy =>
  ({ algorithm: 'fixedWindow', align: 'first-hit', limit, windowMs }) as Policy;

// N1 to N8 of the vectors, wherever a person can write them.
describe.each<[string, (store: Store) => unknown]>([
  ['N1: the limiter name café', (store) => testEnforcer({ name: 'café', policy, store })],
  ['N1: the policy name café', () => fixedWindow({ name: 'café', limit: 5, window: '1m' })],
  [
    'N1: the name café of one of several limits',
    (store) => testEnforcer({ limits: [{ name: 'café', policy }], store }),
  ],
  ['N2: an empty limiter name', (store) => testEnforcer({ name: '', policy, store })],
  ['N2: an empty policy name', () => tokenBucket({ name: '', capacity: 5, refill: 1, every: '1s' })],
  ['N2: an empty name of one of several limits', (store) => testEnforcer({ limits: [{ name: '', policy }], store })],
  ...[
    ['N3', 10 ** 15] as const,
    ['N4', 1.5] as const,
    ['N5', Infinity] as const,
    ['N5', NaN] as const,
    ['N6', -1] as const,
  ].flatMap(([vector, q]): [string, (store: Store) => unknown][] => [
    [`${vector}: the limit ${String(q)} of a fixed window`, () => fixedWindow({ limit: q, window: '1m' })],
    [`${vector}: the limit ${String(q)} of a sliding window`, () => slidingWindow({ limit: q, window: '1m' })],
    [`${vector}: the capacity ${String(q)}`, () => tokenBucket({ capacity: q, refill: 1, every: '1s' })],
    [`${vector}: the limit ${String(q)} in the short form`, (store) => testEnforcer({ limit: q, window: '1m', store })],
    [
      `${vector}: the limit ${String(q)} in a policy written by hand`,
      (store) => testEnforcer({ policy: window(q, 60_000), store }),
    ],
  ]),
  ...[0, -1, -60_000, '0s', '-1s'].flatMap((length): [string, (store: Store) => unknown][] => [
    [`N7: the window ${String(length)} of a fixed window`, () => fixedWindow({ limit: 5, window: length as '0s' })],
    [`N7: the window ${String(length)} of a sliding window`, () => slidingWindow({ limit: 5, window: length as '0s' })],
    [
      `N7: the interval ${String(length)} of a bucket`,
      () => tokenBucket({ capacity: 5, refill: 1, every: length as '0s' }),
    ],
    [
      `N7: the window ${String(length)} in the short form`,
      (store) => testEnforcer({ limit: 5, window: length as '0s', store }),
    ],
    [
      `N7: the window ${String(length)} in a policy written by hand`,
      (store) => testEnforcer({ policy: window(5, length), store }),
    ],
  ]),
  [
    'N8: policies named Api and api',
    (store) =>
      testEnforcer({
        policy: [
          fixedWindow({ name: 'Api', limit: 5, window: '1m' }),
          fixedWindow({ name: 'api', limit: 9, window: '1h' }),
        ],
        store,
      }),
  ],
  [
    'N8: limits named Api and api',
    (store) =>
      testEnforcer({
        limits: [
          { name: 'Api', policy },
          { name: 'api', policy },
        ],
        store,
      }),
  ],
  [
    'N8: limiters named Api and api on one store',
    (store) => [testEnforcer({ name: 'Api', policy, store }), testEnforcer({ name: 'api', policy, store })],
  ],
])('%s', (_what, make) => {
  it('throws a PolicyError before anything is consumed', () => {
    const store = watchedStore();

    expect(() => make(store)).toThrow(
      expect.objectContaining({ name: 'PolicyError', field: expect.any(String) as unknown }),
    );
    expect(store.asked).toBe(0);
  });
});

describe.each<[string, unknown, string]>([
  ['no options', undefined, 'rateLimit takes an object with'],
  ['no limit at all', {}, 'rateLimit needs limit and window'],
  ['a limit without a window', { limit: 5 }, 'window must be a duration'],
  ['a window without a limit', { window: '1m' }, 'limit must be a whole number'],
  [
    'a policy beside limit and window',
    { policy, limit: 5, window: '1m' },
    'rateLimit takes policy, or limit and window, got both',
  ],
  ['a policy beside limits', { policy, limits: [{ name: 'a', policy }] }, 'policy goes into the entries of limits'],
  ['a key beside limits', { key: () => 'k', limits: [{ name: 'a', policy }] }, 'key goes into the entries of limits'],
  [
    'limits for limit',
    { limits: 5, window: '1m' },
    'limits must be a list of limits, got 5; for one limit write limit',
  ],
  ['a function for limit', { limit: () => 5, window: '1m' }, 'write policy: (request) => policy'],
  [
    'a request, as to a handler',
    { _events: {}, method: 'GET' },
    'rateLimit takes options and returns the handler, got a request',
  ],
  [
    'a context, as to a handler',
    { res: {}, app: {} },
    'rateLimit takes options and returns the handler, got a request',
  ],
  [
    'several names of another package',
    { windowMs: 60_000, max: 5, keyGenerator: () => 'a', qqqqqqqqqq: 1 },
    'has no option "windowMs" (got 60000); did you mean window: "1m"?; nor "max" (got 5): did you mean limit: 5?; nor "keyGenerator" (got a function (keyGenerator)): did you mean key: the same function?; nor "qqqqqqqqqq" (got 1): known: limit, ',
  ],
  ['an empty list of limits', { limits: [] }, 'limits must be a list'],
  [
    'a function that makes policies, not called',
    { policy: fixedWindow as unknown as () => Policy },
    'which was not called; write policy: fixedWindow({ ... })',
  ],
  ['an empty list of policies', { policy: [] }, 'policy must be a policy or a list of them'],
  ['what is no policy', { policy: { limit: 5 } }, 'policy'],
  ['an empty list of key parts', { policy, key: [] }, 'key must have at least one part'],
  ['what is no key', { policy, key: 'ip' }, 'key must be byIp(), byRoute(), byUser() or the like'],
  [
    'what is no key in an entry of limits',
    { limits: [{ name: 'a', policy, key: [1] }] },
    'limits[0].key must be byIp()',
  ],
  ['a cost of 0', { policy, cost: 0 }, 'cost must be a whole number, at least 1'],
  ['a cost of 0.5', { policy, cost: 0.5 }, 'cost must be a whole number, at least 1'],
  ['a cost that is text', { policy, cost: '1' }, 'cost must be a whole number, at least 1'],
  ['a bad cost in an entry of limits', { limits: [{ name: 'a', policy, cost: -1 }] }, 'limits[0].cost must be'],
  [
    'an onMissingKey that does not exist',
    { policy, onMissingKey: 'ignore' },
    'onMissingKey must be "deny", "skip" or "shared"',
  ],
  ['a skip that is no function', { policy, skip: true }, 'skip must be a function'],
  ['an onDenied that is no function', { policy, onDenied: 'no' }, 'onDenied must be a function'],
  ['an onDecision that is no function', { policy, onDecision: {} }, 'onDecision must be a function'],
  ['a throw that is neither true nor false', { policy, throw: 'yes' }, 'throw must be true or false'],
  ['a format that does not exist', { policy, headers: 'draft-8' }, 'headers must be "draft-11"'],
  [
    'an unknown option in an entry of limits',
    { limits: [{ name: 'a', policy, windowMs: 5 }] },
    'limits[0] has no option "windowMs"',
  ],
])('%s', (_what, options, message) => {
  it('throws a PolicyError that says what was expected', () => {
    expect(() => testEnforcer(options as TestOptions)).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringContaining(message) as unknown }),
    );
  });
});

// What every message of a denied option tells: which one, what was expected, what came.
describe.each<[option: string, values: readonly unknown[], expected: string, field?: string]>([
  ['mode', ['shadow', true, null], 'mode must be "enforce" or "report"'],
  ['cors', ['*', 1, null], 'cors must be true or false'],
  ['throw', [1, null], 'throw must be true or false'],
  ['skip', ['/health', null, ['/health']], 'skip must be a function'],
  ['onDenied', [429, null], 'onDenied must be a function'],
  ['onDecision', ['log', null], 'onDecision must be a function'],
  [
    'allow',
    ['10.0.0.0/8', null, () => true],
    'allow must be a list of addresses, CIDR ranges such as "10.0.0.0/8", or keys',
  ],
  ['deny', ['10.0.0.0/8', null, {}], 'deny must be a list of addresses, CIDR ranges such as "10.0.0.0/8", or keys'],
  ['allow', [['10.0.0.0/40'], [null]], 'allow[0] must be an address, a CIDR range', 'allow[0]'],
  ['deny', [['::1', '1.2.3.4/99']], 'deny[1] must be an address', 'deny[1]'],
  [
    'refund',
    ['success', 'onSuccess', true, 200, null],
    'refund must be "on-success", "on-failure" or a function of request and response',
  ],
  [
    'refund',
    [{ when: 'always' }, { when: true }, {}],
    'refund.when must be "on-success", "on-failure" or a function of request and response',
    'refund.when',
  ],
  ['refund', [['on-success']], 'refund takes an object with when and onAbort'],
  ['maxPaced', [-1, 0.5, NaN, Infinity, '10', null], 'maxPaced must be a whole number of requests, at least 0'],
  ['onMissingKey', ['allow', true, null], 'onMissingKey must be "deny", "skip" or "shared"'],
  ['headers', ['draft-12', true, null, {}], 'headers must be "draft-11"'],
])('the option %s', (option, values, expected, field = option) => {
  it.each(values.map((value) => [value]))(`given %j, is denied: ${expected}`, (value) => {
    const store = watchedStore();

    expect(() => testEnforcer({ policy, store, [option]: value })).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        code: 'SLUICE_OPTION_INVALID',
        field,
        message: expect.stringMatching(
          new RegExp(`^${expected.replace(/[[\]().]/g, '\\$&')}.*[,;] got .`, 's'),
        ) as unknown,
      }),
    );
    expect(() => testEnforcer({ policy, store })).not.toThrow(); // the name was not taken
  });
});

describe('a name that means something elsewhere', () => {
  it.each([
    ['whitelist', 'did you mean "allow"?'],
    ['allowList', 'did you mean "allow"?'],
    ['allowlist', 'did you mean "allow"?'],
    ['blacklist', 'did you mean "deny"?'],
    ['denyList', 'did you mean "deny"?'],
    ['skipSuccessfulRequests', 'did you mean refund: "on-success"?'],
    ['skipFailedRequests', 'did you mean refund: "on-failure"?'],
    ['requestWasSuccessful', 'did you mean "refund"?'],
    ['dryRun', 'did you mean mode: "report"?'],
    ['shadow', 'did you mean mode: "report"?'],
    ['shadowMode', 'did you mean mode: "report"?'],
    ['draft_polli_ratelimit_headers', 'did you mean "headers"?'],
    ['enableDraftSpec', 'did you mean "headers"?'],
    ['addHeaders', 'did you mean "headers"?'],
    ['standardHeaders', 'did you mean headers: "draft-11"?'],
    ['keyGenerator', 'did you mean "key"?'],
    ['getTracker', 'did you mean "key"?'],
    ['identifier', 'did you mean "name"?'],
    ['namespace', 'did you mean "name"?'],
    ['groupId', 'did you mean "name"?'],
    ['errorMessage', 'did you mean "onDenied"?'],
    ['insuranceLimiter', 'did you mean "onStoreError"?'],
    ['storage', 'did you mean "store"?'],
    ['throttlers', 'did you mean "limits"?'],
    ['trustProxy', 'the framework itself has a setting for trusted proxies'],
    ['requestPropertyName', 'the key and the decision are always on the request, as rateLimit'],
    ['ban', 'to deny a key for a while call limiter.block(key, "1h")'],
    ['blockDuration', 'to deny a key for a while call limiter.block(key, "1h")'],
    ['allows', 'did you mean "allow"?'],
    ['Deny', 'did you mean "deny"?'],
    ['onDenyed', 'did you mean "onDenied"?'],
    ['constructor', 'known: limit, window, policy'],
    ['somethingElseEntirely', 'known: limit, window, policy'],
  ])('%s: says what it is called here', (name, hint) => {
    expect(() => testEnforcer({ policy, [name]: 1 })).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        code: 'SLUICE_OPTION_UNKNOWN',
        field: name,
        message: expect.stringContaining(`rateLimit has no option "${name}" (got 1); ${hint}`) as unknown,
      }),
    );
  });

  it('is denied inside refund too, by its place', () => {
    const withOption = (option: object) => (): unknown =>
      testEnforcer({ policy, refund: { when: 'on-success', ...option } } as unknown as TestOptions);

    expect(withOption({ onAborted: true })).toThrow(
      'refund has no option "onAborted" (got true); did you mean "onAbort"?',
    );
  });
});
