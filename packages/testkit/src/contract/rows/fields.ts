import { fixedWindow, slidingWindow, type Decision } from '@sluice/core';
import { byHeader } from '@sluice/core/http';
import { readCost, numberIn, type Limit } from '../adapter.ts';
import { after, cost, withKey } from '../ask.ts';
import { each, get, PROBLEM, makeRows, shows, UNTOLD, within, type Fields, type Row } from '../row.ts';
import { AT_THE_ROUTE } from '../stage.ts';
import { failing } from '../stores.ts';

const once = fixedWindow({ limit: 1, window: '60s' });
const hundred = fixedWindow({ limit: 100, window: '60s', align: 'clock' });
const byKey = byHeader('x-api-key');

/** The body of a denial by this limit. */
function usedUp(limit: string, wait: string): string {
  const type = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
  const detail = `The limit ${limit} is used up. Try again in ${wait}.`;
  return `{"type":"${type}","title":"Quota Exceeded","status":429,"detail":"${detail}","violated-policies":["${limit}"]}`;
}

const allowed = shows('"default";q=1;w=60', '"default";r=0;t=60');
const denied = { ...allowed, 'retry-after': '60' };
const unstored = { ...denied, 'cache-control': 'no-store' };
const sixty = '"default";q=100;w=60';
const both = '"burst";q=10;w=1, "daily";q=1000;w=86400';
const burstAndDaily: Limit['limits'] = [
  { name: 'burst', policy: fixedWindow({ limit: 10, window: '1s' }), cost: (asked) => numberIn(asked, 'x-burst', 1) },
  { name: 'daily', policy: fixedWindow({ limit: 1000, window: '1d', align: 'clock' }), cost: readCost },
];
const sixEach = { headers: { 'X-Burst': '6', 'X-Cost': '6' }, afterMs: 2000 };
const globally = { name: 'global', policy: slidingWindow({ limit: 1000, window: '1h' }), cost: 12 };

const delta = { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' };
const draft6 = { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': '60' };
const formats: readonly (readonly [string, Limit['headers'], Fields])[] = [
  ['"draft-11"', 'draft-11', allowed],
  ['"draft-7"', 'draft-7', { 'ratelimit-policy': '1;w=60', ratelimit: 'limit=1, remaining=0, reset=60' }],
  ['"draft-6"', 'draft-6', { ...draft6, 'ratelimit-policy': '1;w=60' }],
  ['{ legacy: "epoch" }', { legacy: 'epoch' }, { ...delta, 'x-ratelimit-reset': '1795262461' }],
  ['{ legacy: "delta" }', { legacy: 'delta' }, delta],
  ['a list', ['draft-11', { legacy: 'delta' }], { ...allowed, ...delta }],
  ['false', false, {}],
];

const origin = { 'Access-Control-Allow-Origin': 'https://shop.example' };
const listed = { ...origin, 'Access-Control-Expose-Headers': 'X-Total, ratelimit,Retry-After' };
const legacy = 'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
const exposed: readonly (readonly [string, Record<string, string>, Limit, Fields, string | undefined])[] = [
  ['exposes the fields', origin, { cors: true }, denied, 'RateLimit, RateLimit-Policy, Retry-After'],
  ['adds to a list once', listed, { cors: true }, denied, 'X-Total, ratelimit, Retry-After, RateLimit-Policy'],
  ['exposes the fields of its format', origin, { cors: true, headers: { legacy: 'delta' } }, delta, legacy],
  ['exposes nothing if no origin is allowed', {}, { cors: true }, denied, undefined],
  ['is off by default', listed, {}, denied, listed['Access-Control-Expose-Headers']],
];
const thrown: readonly (readonly [string, number, () => Limit])[] = [
  ['a client on the list deny', 403, () => ({ deny: ['127.0.0.1'] })],
  ['a request without a key', 403, () => ({ key: () => undefined })],
  ['a request while the store is away', 503, () => ({ store: failing('rejects'), onStoreError: 'deny' })],
];

/** What answers say about a limit. The clock starts at 12:00:00.25. */
export const fields: readonly Row[] = makeRows({
  // Byte for byte.
  'the fields of a first answer state what is left, and until when (V1)': [
    { policy: fixedWindow({ limit: 100, window: '60s' }) },
    [{}, 200, shows(sixty, '"default";r=99;t=60'), 'hello'],
  ],
  'the fields of the last unit come with a usual answer, those of a denial with problem details (V2, V3)': [
    { policy: hundred, cost: readCost },
    [cost(99, 29_150), 200],
    [{}, 200, { ...shows(sixty, '"default";r=0;t=31'), 'cache-control': undefined }, 'hello'],
    [{}, 429, { ...shows(sixty, '"default";r=0;t=31', '31'), ...PROBLEM }, usedUp('default', '31 seconds')],
    [after(30_599), 429, shows(sixty, '"default";r=0;t=1', '1')],
  ],
  'the fields of two policies are listed together, and a denial names the violated one (V4, V5)': [
    { limits: burstAndDaily },
    [after(-2250), 200],
    [sixEach, 200, shows(both, '"burst";r=4;t=1, "daily";r=993;t=43200')],
    [cost(993, 2000), 200],
    [{}, 429, shows(both, '"burst";r=9;t=1, "daily";r=0;t=43198', '43198'), usedUp('daily', '43198 seconds')],
  ],
  'the fields of a limit of the application and one of the route are two members each, the outer one first (V12)': [
    within(
      { ways: AT_THE_ROUTE, outer: globally },
      { name: 'login', policy: fixedWindow({ limit: 5, window: '300s' }) },
    ),
    [{}, 200, shows('"global";q=1000;w=3600, "login";q=5;w=300', '"global";r=988;t=3600, "login";r=4;t=300')],
  ],
  'the fields of a denied HEAD are those of GET, without a body (V13)': [
    { policy: once },
    get(200),
    [{ method: 'HEAD' }, 429, { ...denied, ...PROBLEM }, ''],
  ],
  ...each(formats, ([written, option, shown]) => [
    `headers: ${written} writes exactly these fields, allowed or denied`,
    { policy: once, headers: option },
    [{}, 200, shown],
    [{}, 429, { ...shown, 'retry-after': '60', 'cache-control': 'no-store' }],
  ]),
  ...each(exposed, ([what, before, option, shown, names]) => [
    `cors ${what} (V18)`,
    within({ before }, { policy: once, ...option }),
    get(200),
    [{}, 429, { ...shown, 'access-control-expose-headers': names, 'retry-after': '60' }],
  ]),

  // None without a decision, or with an unknown decision.
  'the fields are missing if a request is skipped, and those of the application stay (V14)': [
    within({ handle: () => ({ headers: { 'X-Own': 'kept' } }) }, { policy: once, skip: () => true }),
    [{}, [200, 200], { ...UNTOLD, 'x-own': 'kept', 'cache-control': undefined }],
  ],
  'the fields are missing if a client is on the list allow (V14)': [
    { policy: once, allow: ['127.0.0.0/8'] },
    [{}, [200, 200], UNTOLD],
  ],
  'the fields are missing if the store fails and onStoreError is "allow" (V14)': [
    () => ({ policy: once, store: failing('rejects'), onStoreError: 'allow' }),
    [{}, [200, 200], {}],
  ],
  'the fields are missing if the store fails and onStoreError is "deny": 503 with problem details (V15)': [
    () => ({ policy: once, store: failing('rejects'), onStoreError: 'deny' }),
    [{}, 503, PROBLEM, '{"type":"about:blank","title":"Service Unavailable","status":503}'],
  ],

  // The answer to a denial: of the limiter, the application, or the framework's error handler.
  'a denial has one size for every request, and never contains the key (B23)': [
    { policy: once, key: byKey },
    ...['secret', 'secret'.repeat(500)].flatMap((key): Row['steps'] => [
      [withKey(key), 200],
      [{ ...withKey(key), path: `/items?q=${key}` }, 429, { ...denied, ...PROBLEM }, usedUp('default', '60 seconds')],
    ]),
  ],
  'a denial passes the request and the decision to onDenied, and has the fields whatever it sends': [
    within({ logged: [['denied', 60_000]] }, ({ log, answer }) => ({
      policy: once,
      onDenied: async (_request, response, { outcome, retryAfterMs }) => {
        await new Promise(setImmediate);
        log([outcome, retryAfterMs]);
        return answer(response, { status: 420, body: 'calm' });
      },
    })),
    get(200),
    [{}, 420, unstored, 'calm'],
  ],
  'a denial reaches the framework’s error handler with throw: true, with status and fields, and without the key': [
    { policy: once, throw: true },
    get(200),
    [{}, 429, unstored, /^(?![^]*127\.0\.0\.1)/],
  ],
  ...each(thrown, ([whom, status, limit]) => [
    `a denial of ${whom} reaches the framework’s error handler with throw: true`,
    () => ({ policy: once, throw: true, ...limit() }),
    [{}, status, { 'cache-control': 'no-store' }],
  ]),
  'a limit that only reports counts and tells onDecision, but denies nothing and writes no fields': [
    within({ logged: ['allowed', 'denied', 'denied'] }, ({ log }) => ({
      ...{
        policy: once,
        mode: 'report',
        onDecision: ({ outcome }: Decision) => {
          log(outcome);
        },
      },
    })),
    [{}, 200, { ...UNTOLD, 'x-limit': 'allowed 0 127.0.0.1' }],
    [{}, [200, 200], { ...UNTOLD, 'x-limit': 'denied 0 127.0.0.1' }, 'hello'],
  ],
});
