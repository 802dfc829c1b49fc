import { byAll, byHeader, byIp, byUser } from '@sluice/core/http';
import { header, type AnyRequest, type Limit } from '../adapter.ts';
import { from, withKey, type Ask } from '../ask.ts';
import { each, FORBIDDEN, get, hourly, PROBLEM, makeRows, UNTOLD, within, type Row, type Step } from '../row.ts';

const byKey = byHeader('x-api-key');
const pick = (asked: AnyRequest) => `of ${String(header(asked, 'x-user'))}`;

const kinds: readonly (readonly [string, Limit['key'], Record<string, string>, string])[] = [
  ['byIp() by default', undefined, {}, '127.0.0.1'],
  ['byAll()', byAll(), {}, '*'],
  ['byHeader(), however its name is spelt', byHeader('X-API-Key'), { 'x-api-key': 'k1' }, 'k1'],
  ['byUser(), from where authentication leaves it', byUser(), { 'X-User': 'ann' }, 'ann'],
  ['byUser(pick)', byUser(pick), { 'X-User': 'ann' }, 'of ann'],
  ['a function', (asked) => header(asked, 'x-api-key'), { 'X-Api-Key': 'k2' }, 'k2'],
  ['a function that returns a number', () => 42, {}, '42'],
  ['an async function', async () => Promise.resolve('later'), {}, 'later'],
  ['a list', [byIp(), byKey, async () => Promise.resolve('z')], { 'X-Api-Key': 'k' }, '127.0.0.1|k|z'],
];
const missing: readonly (readonly [string, Limit])[] = [
  ['by default', { key: byKey }],
  ['with onMissingKey: "deny"', { key: byKey, onMissingKey: 'deny' }],
  ['if one part of several is missing', { key: [byIp(), byKey] }],
  ['if a function returns null', { key: () => null }],
  ['if it is empty', { key: () => '' }],
];
const NO_KEY =
  '{"type":"about:blank","title":"Forbidden","status":403,"detail":"This request could not be identified."}';

const ranges = [
  ['an address in another spelling', '203.0.113.7', '::ffff:cb00:7107', '::ffff:cb00:7108'],
  ['a range', '203.0.113.0/25', '203.0.113.127', '203.0.113.128'],
] as const;
const precedences: readonly (readonly [string, Limit])[] = [
  ['an address over a range', { deny: ['203.0.113.7'], allow: ['203.0.113.0/24'] }],
  ['an address over a key', { deny: ['203.0.113.7'], allow: ['k'] }],
  ['a key over an address', { deny: ['k'], allow: ['203.0.113.7'] }],
  ['a key over the same key', { deny: ['k'], allow: ['k'] }],
];

/** Header fields with which clients claim other addresses. */
const forged: readonly NonNullable<Ask['headers']>[] = [
  ...[
    ...['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP', 'X-Cluster-Client-IP'],
    ...['Fastly-Client-IP', 'X-Forwarded', 'Forwarded-For', 'Client-IP', 'Via'],
  ].map((name, i) => ({ [name]: `203.0.113.${String(i)}` })),
  { Forwarded: 'for=203.0.113.50;proto=https' },
  { 'X-Forwarded-For': ['203.0.113.51', '203.0.113.52'] },
  ...['203.0.113.53:4711, 127.0.0.1', '127.0.0.1', 'unknown, , _hidden'].map((value) => ({ 'X-Forwarded-For': value })),
  { 'X-Forwarded-For': '2001:db8::1', 'X-Forwarded-Host': 'other', 'X-Forwarded-Proto': 'https' },
];
const inOneNetwork = Array.from(
  { length: 64 },
  (_, i) => `2001:db8:1:2:${(i * 257).toString(16)}:${i.toString(16)}::1`,
);
/** The first is allowed, and all others come from the same client. */
const oneClient = (addresses: readonly string[]): readonly Step[] =>
  addresses.map((address, i) => [from(address), i === 0 ? 200 : 429]);

/** The budget that a request uses. */
const budgets = makeRows({
  ...each(kinds, ([what, key, headers, text]) => [
    `a key may be ${what}, and is told to the handler with the decision`,
    within({ users: true }, { policy: hourly(1), key }),
    [{ headers }, 200, { 'x-limit': `allowed 0 ${text}` }],
  ]),
  'a key by user has a budget for each user, whatever the name': [
    within({ users: true }, { policy: hourly(1), key: byUser() }),
    ...['ann', 'bob', '__proto__', 'constructor'].map((user): Step => [{ headers: { 'X-User': user } }, [200, 429]]),
    get(403),
  ],
  ...each(missing, ([when, limit]) => [
    `a key that is missing leads to 403 ${when}, with problem details and without fields (B21)`,
    { policy: hourly(1), ...limit },
    [{}, 403, PROBLEM, NO_KEY],
  ]),
  'a key that is missing means no limit with onMissingKey: "skip" (B21)': [
    { policy: hourly(1), key: byKey, onMissingKey: 'skip' },
    [{}, [200, 200], {}],
    [withKey('k'), [200, 429]],
  ],
  'a key that is missing is one shared budget with onMissingKey: "shared", which no key can name (B21)': [
    { policy: hourly(1), key: byKey, onMissingKey: 'shared' },
    get(200),
    ...['#missing', 'undefined', 'null', 'missing'].map((key): Step => [withKey(key), 200]),
    get(429),
  ],
  'a key in a header that is sent twice is one key, without a second budget (B21)': [
    { policy: hourly(1), key: byKey },
    [withKey(['k1', 'k2']), [200, 429, 429]],
  ],
  'a list may name keys': [
    { policy: hourly(1), key: byKey, allow: ['partner'], deny: ['stolen'] },
    [withKey('partner'), [200, 200, 200]],
    [withKey('stolen'), 403, PROBLEM, FORBIDDEN],
    [withKey('other'), [200, 429]],
  ],
  'a list ignores an address that a client only claims': [
    { policy: hourly(1), allow: ['203.0.113.7'], deny: ['203.0.113.66'] },
    [from('203.0.113.7'), [200, 429]],
    [from('203.0.113.66'), 429],
  ],
  'a limit per address ignores forged addresses: headers of senders that are not trusted (B6)': [
    { policy: hourly(1) },
    [{}, 200, { 'x-limit': 'allowed 0 127.0.0.1' }],
    ...forged.map((headers): Step => [{ headers }, 429]),
  ],
});

/** Clients by address, in every spelling. */
const addresses = makeRows(
  {
    ...each(ranges, ([what, entry, listed, other]) => [
      `a list that denies ${what} leads to 403, and affects no other client`,
      { policy: hourly(1), deny: [entry] },
      [from(listed), 403, PROBLEM, FORBIDDEN],
      [from(other), 200],
    ]),
    ...each(ranges, ([what, entry, listed, other]) => [
      `a list that allows ${what} neither counts nor denies it`,
      { policy: hourly(1), allow: [entry] },
      [from(listed), [200, 200, 200], UNTOLD],
      [from(other), [200, 429]],
    ]),
    ...each(precedences, ([which, limit]) => [
      `a list that denies takes precedence: ${which}`,
      { policy: hourly(1), key: byKey, ...limit },
      [from('203.0.113.7', { 'X-Api-Key': 'k' }), 403, PROBLEM, FORBIDDEN],
    ]),
    'a limit per address distinguishes clients behind a trusted proxy, whatever they claim before it': [
      { policy: hourly(1) },
      [from('203.0.113.1'), [200, 429]],
      [from('203.0.113.2'), 200],
      [from('6.6.6.6, 203.0.113.1'), 429],
    ],
    'a limit per address counts all addresses of a /64 as one client, and two /64 as two (B5)': [
      { policy: hourly(1) },
      ...oneClient(inOneNetwork),
      [from('2001:db8:1:3::1'), 200, { 'x-limit': 'allowed 0 2001:db8:1:3::/64' }],
    ],
  },
  { trustLoopback: true },
);

export const keys: readonly Row[] = [...budgets, ...addresses];
