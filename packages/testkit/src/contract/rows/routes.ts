import { byIp, byMethod, byRoute } from '@sluice/core/http';
import { spellingsOf } from '../../spellings.ts';
import type { Ask } from '../ask.ts';
import { anything, each, get, hourly, passes, makeRows, within, type Row, type Step, type Tools } from '../row.ts';
import { APPLICATION_WIDE } from '../stage.ts';

const perRoute = { policy: hourly(3), key: [byIp(), byRoute()] };
const to = (method: string): Record<string, string> => ({ 'X-HTTP-Method-Override': method });
/** Three are allowed, the others denied. */
const allowThree = (asks: readonly Ask[]): readonly Step[] => asks.map((ask, i) => [ask, i < 3 ? 200 : 429]);

const WHEN = ['before', 'after'] as const;
const spelt = [
  ['POST', '/login', '/login'],
  ['GET', '/users/:id', '/users/1'],
] as const;
const overrides = WHEN.flatMap((when) => [[when, 'PUT', 'POST'] as const, [when, 'POST', 'PUT'] as const]);
const overridden = ['POST POST', 'POST PUT', 'PUT PUT', 'PUT POST', 'POST PUT'].map((pair): Ask => {
  const [method = '', other = ''] = pair.split(' ');
  return { method, headers: to(other) };
});

/** One budget for all spellings of a request. */
const spellings = makeRows({
  ...each(spelt, ([method, path, plain]) => [
    `a limit per address and route is escaped by no spelling of ${method} ${path} (B1)`,
    within({ method, path, handledAtMost: 3 }, perRoute),
    ...[...spellingsOf(plain), ...spellingsOf(plain), plain].map((target): Step => [{ path: target }, anything]),
    [{ path: plain }, 429],
  ]),
  'a limit per route has one budget for all ids in a path (B1)': [
    within({ path: '/users/:id' }, { policy: hourly(3), key: byRoute() }),
    ...allowThree(['1', '2', 'ann', '%41nn', 'x-y'].map((id) => ({ path: `/users/${id}` }))),
  ],
  'a limit per method counts HEAD with GET (B3)': [
    { policy: hourly(3), key: [byIp(), byRoute(), byMethod()] },
    ...allowThree(['GET', 'HEAD', 'GET', 'HEAD', 'GET'].map((method) => ({ method }))),
  ],
  'a limit per method ignores X-HTTP-Method-Override if the application does (B2)': [
    within({ method: 'POST' }, { policy: hourly(1), key: [byIp(), byMethod()] }),
    get(200),
    [{ headers: to('PUT') }, 429],
  ],
  'a limit per method distinguishes GET, POST and DELETE': [
    within(
      { ways: APPLICATION_WIDE, more: [{ method: 'POST' }, { method: 'DELETE' }] },
      { policy: hourly(1), key: [byIp(), byMethod()] },
    ),
    ...['GET', 'POST', 'DELETE'].map((method): Step => [{ method }, [200, 429]]),
  ],
  ...each(overrides, ([methodOverride, method, other]) => [
    `a method override ${methodOverride} the limiter does not escape the limit of ${method} (B2)`,
    within({ method, path: '/pay', methodOverride }, perRoute),
    get(200, 200),
    [{ method: other, headers: to(method) }, [200, 429]],
    get(429),
  ]),
  ...each(WHEN, (methodOverride) => [
    `a method override ${methodOverride} the limiter gives no second budget for a path with both methods (B2)`,
    within({ ways: APPLICATION_WIDE, method: 'POST', more: [{ method: 'PUT' }], methodOverride }, perRoute),
    ...allowThree(overridden),
  ]),
});

function preflight(path = '/items', method = 'GET', headers: Ask['headers'] = {}): Ask {
  const asked = { Origin: 'https://shop.example', 'Access-Control-Request-Method': method };
  return { method: 'OPTIONS', path, headers: { ...asked, ...headers } };
}

const fail = (tools: Tools, name: string) => (): never => {
  tools.log(name);
  throw new Error(`${name} expects a user`);
};
/** The option `preflights`: no free lane, no cost to requests, and no broken CORS. */
const preflights = makeRows(
  {
    'preflights have a budget beside that of requests and no fields, and a denial states when to come again': [
      { policy: hourly(2) },
      [preflight(), [passes, passes], {}],
      [preflight(), [429, 429], { 'retry-after': '3600', 'cache-control': 'no-store' }],
      get(200, 200, 429),
    ],
    'preflights call no function that may expect a user': [
      within({ logged: [] }, (tools) => ({
        ...{ key: fail(tools, 'key'), cost: fail(tools, 'cost'), policy: fail(tools, 'policy') },
        ...{ skip: fail(tools, 'skip'), onDecision: fail(tools, 'onDecision') },
      })),
      [preflight(), [passes, passes]],
    ],
    'preflights count like other requests with "count"': [
      { policy: hourly(2), preflights: 'count' },
      [preflight(), [passes, passes]],
      get(429),
    ],
    'preflights are neither counted nor denied with "skip", and get no fields (B4)': [
      { policy: hourly(1), preflights: 'skip' },
      [preflight(), [passes, passes, passes], {}],
      get(200, 429),
      [preflight(), passes, {}],
    ],
  },
  { ways: APPLICATION_WIDE, trustLoopback: true, more: [{ path: '/other' }] },
);

const asPreflight = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' };
const options = (headers: Record<string, string>, body?: string): Ask => ({
  ...{ method: 'OPTIONS', headers },
  ...(body && { body }),
});
const others: readonly (readonly [string, Ask])[] = [
  ['a bare OPTIONS', options({})],
  ['an OPTIONS with an Origin alone', options({ Origin: 'https://shop.example' })],
  ['an OPTIONS with a method alone', options({ 'Access-Control-Request-Method': 'POST' })],
  ['a preflight with a body', options({ ...asPreflight, 'Content-Length': '2' }, '{}')],
  ['a preflight with a body of unknown length', options({ ...asPreflight, 'Transfer-Encoding': 'chunked' }, '{}')],
  ['a preflight with a cookie', options({ ...asPreflight, Cookie: 'a=b' })],
  ['a GET dressed as a preflight', { method: 'GET', headers: asPreflight }],
  ['a POST dressed as a preflight', { method: 'POST', headers: asPreflight }],
  ['a method without a handler', { method: 'DELETE' }],
  ['a path that no route matches', { path: '/nowhere' }],
];

/** Requests that are not a browser's preflight, or have no handler. */
const counted = makeRows(
  {
    ...each(others, ([what, ask]) => [
      `a limit of an application counts ${what} (B4)`,
      { policy: hourly(2) },
      [ask, [passes, passes, 429]],
      get(429),
    ]),
    'a limit per route has one budget for all paths without a route': [
      { policy: hourly(2), key: byRoute() },
      ...['/a', '/b', '/c/d'].map((path, i): Step => [{ path }, i < 2 ? 404 : 429]),
    ],
  },
  { ways: APPLICATION_WIDE, method: 'POST' },
);

export const routes: readonly Row[] = [...spellings, ...preflights, ...counted];
