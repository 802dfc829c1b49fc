import { describe, expect, it } from '@jest/globals';
import {
  PolicyError,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  slidingWindow,
  tokenBucket,
} from '@sluice/old-core';

/** What a caller without types can write. */
type Untyped = (...args: unknown[]) => unknown;
const fixed = fixedWindow as unknown as Untyped;
const sliding = slidingWindow as unknown as Untyped;
const bucket = tokenBucket as unknown as Untyped;
const leaky = leakyBucket as unknown as Untyped;
const limiter = createLimiter as unknown as Untyped;
const memory = memoryStore as unknown as Untyped;
const redis = redisStore as unknown as Untyped;

const policy = fixedWindow({ limit: 5, window: '1m' });
const INVALID = 'SLUICE_POLICY_INVALID';
const OPTION = 'SLUICE_OPTION_INVALID';
const UNKNOWN = 'SLUICE_OPTION_UNKNOWN';

/** What is written, the code and the field of its error, and what its message says. */
const TABLE: readonly (readonly [what: string, make: () => unknown, code: string, field: string, text: RegExp])[] = [
  [
    'limit 0.5',
    () => fixed({ limit: 0.5, window: '1m' }),
    INVALID,
    'limit',
    /limit must be a whole number from 0 to 999999999999999, got 0\.5; .*longer window/,
  ],
  ['limit -1', () => fixed({ limit: -1, window: '1m' }), INVALID, 'limit', /got -1/],
  ['limit -0', () => fixed({ limit: -0, window: '1m' }), INVALID, 'limit', /got -0/],
  ['limit NaN', () => fixed({ limit: Number.NaN, window: '1m' }), INVALID, 'limit', /got NaN/],
  ['limit Infinity', () => fixed({ limit: Infinity, window: '1m' }), INVALID, 'limit', /got Infinity/],
  ['limit "5"', () => fixed({ limit: '5', window: '1m' }), INVALID, 'limit', /got "5"/],
  ['limit 5n', () => fixed({ limit: 5n, window: '1m' }), INVALID, 'limit', /got 5n/],
  ['limit null', () => fixed({ limit: null, window: '1m' }), INVALID, 'limit', /got null/],
  [
    'limit 10^15',
    () => sliding({ limit: 1e15, window: '1m' }),
    INVALID,
    'limit',
    /999999999999999, got 1000000000000000/,
  ],
  ['no limit', () => sliding({ window: '1m' }), INVALID, 'limit', /got undefined/],
  [
    'window "10 parsecs"',
    () => fixed({ limit: 5, window: '10 parsecs' }),
    INVALID,
    'window',
    /window must be a duration such as .*, got "10 parsecs"; known units: ms, s, m, h, d/,
  ],
  ['window 0', () => fixed({ limit: 5, window: 0 }), INVALID, 'window', /got 0/],
  ['window "0s"', () => fixed({ limit: 5, window: '0s' }), INVALID, 'window', /got "0s"/],
  ['window -1000', () => sliding({ limit: 5, window: -1000 }), INVALID, 'window', /got -1000/],
  ['window 1.5', () => fixed({ limit: 5, window: 1.5 }), INVALID, 'window', /whole number of milliseconds.*got 1\.5/],
  ['window NaN', () => fixed({ limit: 5, window: Number.NaN }), INVALID, 'window', /got NaN/],
  ['window Infinity', () => fixed({ limit: 5, window: Infinity }), INVALID, 'window', /got Infinity/],
  ['window of 101 years', () => fixed({ limit: 5, window: '36865d' }), INVALID, 'window', /36500d/],
  ['no window', () => fixed({ limit: 5 }), INVALID, 'window', /got undefined/],
  [
    'align "noon"',
    () => fixed({ limit: 5, window: '1m', align: 'noon' }),
    INVALID,
    'align',
    /"first-hit" or "clock", got "noon"/,
  ],
  [
    'precision that does not divide',
    () => sliding({ limit: 5, window: '1m', precision: '7s' }),
    INVALID,
    'precision',
    /divide the window of 60000 ms, got "7s"/,
  ],
  ['101 blocks', () => sliding({ limit: 5, window: 1010, precision: 10 }), INVALID, 'precision', /at least 11 ms/],
  [
    'precision beyond the window',
    () => sliding({ limit: 5, window: 1000, precision: 2000 }),
    INVALID,
    'precision',
    /precision must/,
  ],
  [
    'capacity 0',
    () => bucket({ capacity: 0, refill: 1, every: '1s' }),
    INVALID,
    'capacity',
    /got 0; to deny everything write fixedWindow\(\{ limit: 0/,
  ],
  ['a leaky limit of 0', () => leaky({ limit: 0, window: '1s', maxDelay: 0 }), INVALID, 'limit', /from 1 to .*, got 0/],
  [
    'countDenied "yes"',
    () => fixed({ limit: 5, window: '1m', countDenied: 'yes' }),
    INVALID,
    'countDenied',
    /countDenied must be true or false, got "yes"/,
  ],
  ['refill 0', () => bucket({ capacity: 5, refill: 0, every: '1s' }), INVALID, 'refill', /got 0/],
  [
    'every "soon"',
    () => bucket({ capacity: 5, refill: 1, every: 'soon' }),
    INVALID,
    'every',
    /every must be a duration/,
  ],
  [
    'overdraft -1',
    () => bucket({ capacity: 5, refill: 1, every: '1s', overdraft: -1 }),
    INVALID,
    'overdraft',
    /from 0 to .*got -1/,
  ],
  [
    'mode "drip"',
    () => bucket({ capacity: 5, refill: 1, every: '1s', mode: 'drip' }),
    INVALID,
    'mode',
    /"continuous" or "interval", got "drip"/,
  ],
  [
    'numbers that overflow together',
    () => bucket({ capacity: 1e12, refill: 1, every: '1d' }),
    INVALID,
    'capacity',
    /too large to be counted exactly; at most 52124995 together/,
  ],
  [
    'an interval that overflows',
    () => bucket({ capacity: 1e15 - 1, refill: 1, every: '1d', mode: 'interval' }),
    INVALID,
    'capacity',
    /too long to fill/,
  ],
  [
    'name "café"',
    () => fixed({ limit: 5, window: '1m', name: 'café' }),
    INVALID,
    'name',
    /letter followed by up to 63.*got "café"/,
  ],
  ['name ""', () => fixed({ limit: 5, window: '1m', name: '' }), INVALID, 'name', /got ""/],
  ['name of 65', () => fixed({ limit: 5, window: '1m', name: 'x'.repeat(65) }), INVALID, 'name', /up to 63/],
  [
    'windowMs',
    () => fixed({ limit: 5, windowMs: 60_000 }),
    UNKNOWN,
    'windowMs',
    /fixedWindow has no option "windowMs" \(got 60000\); did you mean window: "1m"\?/,
  ],
  ['max', () => sliding({ max: 5, window: '1m' }), UNKNOWN, 'max', /did you mean limit: 5\?/],
  ['points', () => fixed({ points: 5, window: '1m' }), UNKNOWN, 'points', /did you mean limit: 5\?/],
  ['limt', () => fixed({ limt: 5, window: '1m' }), UNKNOWN, 'limt', /did you mean "limit"\?/],
  [
    'refillRate',
    () => bucket({ capacity: 5, refillRate: 1, every: '1s' }),
    UNKNOWN,
    'refillRate',
    /did you mean refill: 1\?/,
  ],
  [
    'something unheard of',
    () => fixed({ limit: 5, window: '1m', xyzzy: 1 }),
    UNKNOWN,
    'xyzzy',
    /known: limit, window, align, countDenied and name/,
  ],
  [
    'no options',
    () => fixed(),
    OPTION,
    'fixedWindow',
    /takes an object with limit, window, align, countDenied and name, got undefined/,
  ],

  [
    'numbers one after the other',
    () => (fixedWindow as unknown as (...numbers: unknown[]) => unknown)(100, '1m'),
    OPTION,
    'fixedWindow',
    /got 100; write for example \{ limit: 100, window: "1m" \}/,
  ],
  ['a limit of "-1"', () => fixed({ limit: '-1', window: '1m' }), INVALID, 'limit', /got "-1" \[/],
  ['a limit of "1.5"', () => fixed({ limit: '1.5', window: '1m' }), INVALID, 'limit', /got "1\.5" \[/],
  ['a limit of " 5"', () => fixed({ limit: ' 5', window: '1m' }), INVALID, 'limit', /; write limit: 5 \[/],
  ['a factory', () => limiter({ policy: fixedWindow }), INVALID, 'policy', /got a function that was not called/],
  ['no policy', () => limiter({}), INVALID, 'policy', /createLimiter needs limit and window/],
  [
    'a policy of undefined',
    () => limiter({ policy: undefined }),
    INVALID,
    'policy',
    /or a policy, or limits; got none/,
  ],
  [
    'a policy that is none',
    () => limiter({ policy: { limit: 5 } }),
    INVALID,
    'policy',
    /policy must be a policy made by .*got an object with limit/,
  ],
  [
    'a policy of an unknown algorithm',
    () => limiter({ policy: { algorithm: 'magic' } }),
    INVALID,
    'policy',
    /known algorithms: fixedWindow, slidingWindow/,
  ],
  [
    'a policy made by hand, with a bad limit',
    () => limiter({ policy: { ...policy, limit: 0.5 } }),
    INVALID,
    'limit',
    /got 0\.5/,
  ],
  ['an empty list of policies', () => limiter({ policy: [] }), INVALID, 'policy', /empty list/],
  [
    'two policies without names',
    () => limiter({ policy: [policy, policy] }),
    INVALID,
    'policy[0].name',
    /needs a name/,
  ],
  [
    'two policies "Api" and "api"',
    () =>
      limiter({
        policy: [
          { ...policy, name: 'Api' },
          { ...policy, name: 'api' },
        ],
      }),
    INVALID,
    'policy.name',
    /unique without regard to case, got "Api" and "api"/,
  ],
  [
    'policy and limits',
    () => limiter({ policy, limits: [{ name: 'a', policy }] }),
    INVALID,
    'limits',
    /takes limits, or policy.*got both/,
  ],
  [
    'a limit and limits',
    () => limiter({ limit: 5, window: '1m', limits: [{ name: 'a', policy }] }),
    INVALID,
    'limits',
    /takes limits, or policy.*got both/,
  ],
  ['a policy and a window', () => limiter({ policy, window: '1m' }), INVALID, 'policy', /policy, or limit and window/],
  ['a limit without a window', () => limiter({ limit: 5 }), INVALID, 'window', /got undefined/],
  ['limits that are no list', () => limiter({ limits: { a: policy } }), INVALID, 'limits', /limits must be a list/],
  ['an empty list of limits', () => limiter({ limits: [] }), INVALID, 'limits', /limits must be a list/],
  ['a limit without a name', () => limiter({ limits: [{ policy }] }), INVALID, 'limits[0].name', /got undefined/],
  [
    'a limit without a policy',
    () => limiter({ limits: [{ name: 'a' }] }),
    INVALID,
    'limits[0].policy',
    /got undefined/,
  ],
  [
    'a limit with a misspelt policy',
    () => limiter({ limits: [{ name: 'a', polcy: policy }] }),
    UNKNOWN,
    'polcy',
    /limits\[0\] has no option "polcy".*did you mean policy/,
  ],
  [
    'two limits "Api" and "api"',
    () =>
      limiter({
        limits: [
          { name: 'Api', policy },
          { name: 'api', policy },
        ],
      }),
    INVALID,
    'limits.name',
    /unique without regard to case/,
  ],
  [
    'windowMs for a limiter',
    () => limiter({ policy, windowMs: 1 }),
    UNKNOWN,
    'windowMs',
    /createLimiter has no option "windowMs".*did you mean window: "1ms"/,
  ],
  ['redis for a limiter', () => limiter({ policy, redis: {} }), UNKNOWN, 'redis', /did you mean "store"\?/],
  ['a limiter named "café"', () => limiter({ policy, name: 'café' }), INVALID, 'name', /got "café"/],
  ['shared "yes"', () => limiter({ policy, shared: 'yes' }), OPTION, 'shared', /true or false, got "yes"/],
  [
    'a store that is none',
    () => limiter({ policy, store: {} }),
    OPTION,
    'store',
    /memoryStore\(\) or redisStore\(client, \{ prefix: 'shop' \}\)/,
  ],
  ['a store of null', () => limiter({ policy, store: null }), OPTION, 'store', /got null/],
  [
    'onStoreError "open"',
    () => limiter({ policy, onStoreError: 'open' }),
    OPTION,
    'onStoreError',
    /"local", "allow", "deny" or "throw", got "open"/,
  ],
  ['timeoutMs 0', () => limiter({ policy, timeoutMs: 0 }), OPTION, 'timeoutMs', /from 1 to 2147483647, got 0/],
  ['timeoutMs "100"', () => limiter({ policy, timeoutMs: '100' }), OPTION, 'timeoutMs', /got "100"/],
  ['timeoutMs Infinity', () => limiter({ policy, timeoutMs: Infinity }), OPTION, 'timeoutMs', /got Infinity/],

  ['maxKeys 0', () => memory({ maxKeys: 0 }), OPTION, 'maxKeys', /at least 1, got 0/],
  ['maxKeys "many"', () => memory({ maxKeys: 'many' }), OPTION, 'maxKeys', /got "many"/],
  ['maxSize', () => memory({ maxSize: 5 }), UNKNOWN, 'maxSize', /did you mean maxKeys: 5\?/],
  ['a clock that is none', () => memory({ clock: {} }), OPTION, 'clock', /object with now\(\) or a function/],
  ['a clock of null', () => memory({ clock: null }), OPTION, 'clock', /got null/],
  [
    'a prefix with braces',
    () => redis('redis://localhost', { prefix: '{app}' }),
    OPTION,
    'prefix',
    /braces would move every key/,
  ],
  [
    'keyPrefix',
    () => redis('redis://localhost', { keyPrefix: 'app' }),
    UNKNOWN,
    'keyPrefix',
    /did you mean prefix: "app"\?/,
  ],
  ['a URL that is none', () => redis('localhost:6379', { prefix: 'app' }), OPTION, 'client', /a Redis URL looks like/],
  [
    'a URL as an option',
    () => redis({ url: 'redis://ada:secret@redis.internal:6379/2?password=secret' }, { prefix: 'app' }),
    OPTION,
    'client',
    /an object with url; write redisStore\("redis:\/\/\.\.\.@redis\.internal:6379\/2\?\.\.\.", \{ prefix: 'shop' \}\) \[/,
  ],
  [
    'no client',
    () => redis(undefined, { prefix: 'app' }),
    OPTION,
    'client',
    /takes a client of ioredis, iovalkey or node-redis/,
  ],
  ['a client without evalsha', () => redis({}, { prefix: 'app' }), OPTION, 'client', /evalsha\(sha1, keys, args\)/],
];

describe('what cannot be used is denied when it is given', () => {
  it.each(TABLE)('%s', (_what, make, code, field, text) => {
    expect(make).toThrow(PolicyError);
    expect(make).toThrow(expect.objectContaining({ name: 'PolicyError', code, field }));
    expect(make).toThrow(text);
  });

  it('keeps no name when a limiter could not be made', () => {
    const store = memoryStore();
    expect(() => limiter({ name: 'api', policy: [policy, policy], store })).toThrow(PolicyError);

    expect(createLimiter({ name: 'api', policy, store }).name).toBe('api');
  });

  it('does not follow a policy that is changed after it was given', async () => {
    const mine = { ...policy };
    const made = createLimiter({ policy: mine });
    (mine as { limit: number }).limit = 500;

    expect((await made.consume('key')).limit).toBe(5);
    expect(Object.isFrozen(policy)).toBe(true);
  });
});
