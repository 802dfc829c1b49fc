import { concurrency, fixedWindow } from '@sluice/core';
import { byAll, byHeader, byIp, byUser } from '@sluice/core/http';
import { readCost, header, numberIn, type Limit } from '../adapter.ts';
import { cost, from, type Ask } from '../ask.ts';
import { each, get, hourly, PROBLEM, makeRows, shows, UNTOLD, within, type Row, type Step } from '../row.ts';
import { failing, OUTCOMES } from '../stores.ts';

const ten = fixedWindow({ limit: 10, window: '60s' });
const hundred = fixedWindow({ limit: 100, window: '60s' });
const TEN = '"default";q=10;w=60';
const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);
function fail(): never {
  throw new Error('broken');
}
const failLater = async (): Promise<never> => Promise.reject(new Error('broken'));

const costFunctions: readonly (readonly [string, NonNullable<Limit['cost']>])[] = [
  ['a function', readCost],
  ['an async function', async (request) => Promise.resolve(readCost(request))],
];
const badCosts = [NaN, -1, 0.5, Infinity, 2 ** 53, '5', undefined, null];

const perIp = { name: 'per-ip', policy: fixedWindow({ limit: 2, window: '1s' }), key: byIp() };
const perUser = { name: 'per-user', policy: hourly(3), key: byUser() };
const perKey = { name: 'per-key', policy: hourly(2), key: byHeader('authorization') };
const pair = { ...perUser, key: [byIp(), byUser()] };
const BOTH = '"per-ip";q=2;w=1, "per-user";q=3;w=3600';
const here = (user: string): Ask => from('203.0.113.1', { 'X-User': user });
const there = (user: string): Ask => from('203.0.113.2', { 'X-User': user });
const bearer = (token: number): Ask => ({ headers: { Authorization: `Bearer ${String(token)}` } });
const costly: Limit['limits'] = [
  { name: 'requests', policy: ten, cost: 1 },
  { name: 'bytes', policy: hundred, cost: (request) => numberIn(request, 'x-bytes', 0) },
  { name: 'units', policy: ten },
];
const THREE = '"requests";q=10;w=60, "bytes";q=100;w=60, "units";q=10;w=60';
const OUTER = '"outer";q=2;w=3600';
const INNER = `${OUTER}, "inner";q=1;w=3600`;

const asStatus = (status: number): Ask => ({ headers: { 'X-Status': String(status) } });
const throwing: Ask = { headers: { 'X-Throws': 'yes' } };
const oneSlot: Limit = { policy: concurrency({ limit: 1, ttl: '1h' }), key: byAll() };
const broken = ['key', 'cost', 'skip', 'policy', 'onDecision'].flatMap((name) => [
  { name, when: 'now', given: fail },
  { name, when: 'later', given: failLater },
]);
const failures = (['rejects', 'throws', 'never answers'] as const).flatMap((how) =>
  OUTCOMES.map(([onStoreError, statuses]) => ({ how, onStoreError, statuses })),
);

const alone = makeRows({
  'a cost is taken by every request (B15)': [
    { policy: ten, cost: 4 },
    [{}, 200, shows(TEN, '"default";r=6;t=60')],
    [{}, 200, shows(TEN, '"default";r=2;t=60')],
    [{}, 429, shows(TEN, '"default";r=2;t=60', '60')],
  ],
  ...each(costFunctions, ([what, asked]) => [
    `a cost may be ${what} of the request, and a denial takes nothing (B15)`,
    { policy: ten, cost: asked },
    ...[7, 4, 3, 1].map((units, i): Step => [cost(units), i % 2 === 0 ? 200 : 429]),
  ]),
  'a cost above the limit is denied without Retry-After, and takes nothing': [
    { policy: ten, cost: readCost },
    [cost(11), 429, shows(TEN, '"default";r=10'), /and waiting does not help\./],
    [cost(10), 200],
  ],
  'a cost of 0 exempts a request: not counted, no fields': [
    { policy: ten, cost: readCost },
    [cost(10), 200],
    [cost(0), 200, {}],
    [cost(1), 429],
  ],
  ...each(badCosts, (bad) => [
    `a cost of ${typeof bad} ${String(bad)} lets no request pass, and takes nothing: 500 (B15)`,
    () => {
      const given = [bad, 10] as number[];
      return { policy: ten, cost: () => given.shift() as number };
    },
    get(500, 200),
  ]),

  // Units and slots that come back once the answer is known.
  'refund: "on-success" counts failures alone: 20 good logins, and five bad ones (B16)': [
    { policy: fixedWindow({ limit: 5, window: '1h' }), refund: 'on-success' },
    [asStatus(399), times(20, 399)],
    [asStatus(401), [...times(5, 401), 429]],
    get(429),
  ],
  'refund: "on-failure" counts those that succeed, and a denial gives nothing back (B16)': [
    { policy: hourly(2), refund: 'on-failure' },
    ...[400, 404, 500, 503].map((status): Step => [asStatus(status), status]),
    get(200, 200, 429, 429),
  ],
  'refund: a function gives back if it returns true (B16)': [
    { policy: hourly(2), refund: async (request) => Promise.resolve(header(request, 'x-cached') === 'yes') },
    [{ headers: { 'X-Cached': 'yes' } }, times(4, 200)],
    get(200, 200, 429),
  ],
  'refund: a function that throws gives nothing back, and the answer is sent': [
    { policy: hourly(2), refund: fail },
    get(200, 200, 429),
  ],
  'a slot is released if its handler throws, or answers with an error': [
    oneSlot,
    [throwing, [500, 500]],
    [asStatus(503), [503, 503]],
  ],
  'a slot is released if onDecision throws': [
    { ...oneSlot, onDecision: (_decision, { request }) => header(request, 'x-throws') && fail() },
    [throwing, [500, 500]],
    get(200, 200),
  ],

  // Options that throw, and stores that fail: no request passes, and none hangs.
  ...each(broken, ({ name, when, given }) => [
    `no request passes, and none hangs, if ${name} throws ${when}: 500`,
    { policy: hourly(1), [name]: given },
    [{}, 500, {}],
  ]),
  'no request passes, and none hangs, if a part of a key throws later: 500': [
    { policy: hourly(1), key: [() => 'k', failLater, failLater] },
    [{}, 500, {}],
  ],
  ...each([undefined, null, '', 0, false, 'route', 'router'], (thrown) => [
    `no request passes if ${JSON.stringify(thrown)} is thrown: 500`,
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- applications throw such values
    { policy: hourly(1), key: async () => Promise.reject(thrown) },
    get(500),
  ]),
  ...each([fail, failLater], (onDenied) => [
    `no request passes, and none hangs, if onDenied throws${onDenied === fail ? '' : ' later'}`,
    { policy: hourly(1), onDenied },
    get(200, (status) => status === 429 || status === 500), // it is 429 already, and some frameworks keep it
  ]),
  'nothing is taken if a function throws before the decision': [
    () => {
      const made = [fail, () => 1];
      return { policy: hourly(1), cost: () => made.shift()?.() ?? 1 };
    },
    get(500, 200, 429),
  ],
  ...each(failures, ({ how, onStoreError, statuses }) => [
    `a store that ${how} leads to ${statuses.join(' and ')} with onStoreError: ${onStoreError}`,
    () => ({ policy: hourly(1), store: failing(how), timeoutMs: 1, onStoreError }),
    get(...statuses),
  ]),
});

/** Several limits of one place that are decided together, all or nothing. */
const together = makeRows(
  {
    'several limits take nothing of any when one denies, and the longest wait is told (B25)': [
      { limits: [perIp, perUser] },
      [here('ann'), 200, { 'x-limit': 'allowed 1 {"per-ip":"203.0.113.1","per-user":"ann"}' }],
      [here('ann'), [200, 429, 429]],
      [here('ann'), 429, shows(BOTH, '"per-ip";r=0;t=1, "per-user";r=1;t=3600', '1'), /\["per-ip"\]/],
      [there('ann'), 200],
      [there('ann'), 429, shows(BOTH, '"per-ip";r=1;t=1, "per-user";r=0;t=3600', '3600'), /\["per-user"\]/],
      [there('bob'), 200, shows(BOTH, '"per-ip";r=0;t=1, "per-user";r=2;t=3600')],
      [there('ann'), 429, shows(BOTH, '"per-ip";r=0;t=1, "per-user";r=0;t=3600', '3600'), /\["per-ip","per-user"\]/],
    ],
    'several limits leave out the one per user if there is no user': [
      { limits: [perIp, perUser] },
      [from('203.0.113.1'), 200, shows('"per-ip";q=2;w=1', '"per-ip";r=1;t=1')],
      [from('203.0.113.1'), [200, 429]],
    ],
    'several limits limit nothing if none has a key': [{ limits: [perUser, perKey] }, [{}, times(4, 200), UNTOLD]],
    'several limits deny with 403 if one with onMissingKey: "deny" has no key, and take nothing of the others': [
      { limits: [perIp, { ...perUser, onMissingKey: 'deny' }] },
      [from('203.0.113.1'), 403, PROBLEM],
      [here('ann'), 200, shows(BOTH, '"per-ip";r=1;t=1, "per-user";r=2;t=3600')],
    ],
    'several limits may have a cost each, with a default for the others; 0 leaves a limit out (B15)': [
      { limits: costly, cost: 3 },
      [{ headers: { 'X-Bytes': '40' } }, 200, shows(THREE, '"requests";r=9;t=60, "bytes";r=60;t=60, "units";r=7;t=60')],
      [{}, 200, shows('"requests";q=10;w=60, "units";q=10;w=60', '"requests";r=8;t=60, "units";r=4;t=60')],
    ],
    'several limits apply per address beside one by an unverified key (B22)': [
      { limits: [perKey, { ...perIp, policy: hourly(3) }] },
      ...[1, 2, 3, 4, 5, 6].map((token): Step => [bearer(token), token < 4 ? 200 : 429]),
    ],
    'several limits per address and account lock no other client out of the account (B24)': [
      { limits: [pair, { name: 'account', policy: ten, key: byUser() }] },
      [here('ann'), [...times(3, 200), ...times(9, 429)]],
      [there('ann'), 200],
    ],
    'limits one behind the other decide each for itself, the outer one first': [
      within({ outer: { name: 'outer', policy: hourly(2) } }, { name: 'inner', policy: hourly(1) }),
      [{}, 200, shows(INNER, '"outer";r=1;t=3600, "inner";r=0;t=3600')],
      [{}, 429, shows(INNER, '"outer";r=0;t=3600, "inner";r=0;t=3600', '3600'), /\["inner"\]/],
      [{}, 429, shows(OUTER, '"outer";r=0;t=3600', '3600'), /\["outer"\]/],
    ],
  },
  { trustLoopback: true, users: true },
);

export const counting: readonly Row[] = [...alone, ...together];
