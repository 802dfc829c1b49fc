import { describe, expect, it, jest } from '@jest/globals';
import { exchange, expectWarnings, statuses, useClosing } from '@sluice/testkit';
import { serve, type Served } from '../serve.ts';
import { send, type Answer, type Sent } from '../send.ts';

expectWarnings('SLUICE_PROXY_NOT_TRUSTED');

/** What a gateway asks about, and how. */
interface Asked {
  /** Of the original request. Default `GET /api/1` of 203.0.113.1. Null: the gateway does not state it. */
  readonly method?: string | null;
  readonly target?: string | null;
  readonly address?: string | readonly string[] | null;
  /** Of the original request. */
  readonly headers?: Sent['headers'];
  /** What is sent to the service. Default `GET /auth`. */
  readonly to?: { readonly method?: string; readonly path?: string };
  readonly times?: number;
}

const closing = useClosing();

const written = (rules: readonly string[], proxies: string): string =>
  `forward_auth:\n  trusted_proxies: [${proxies}]\n  rules:\n${rules.map((rule) => `    - { ${rule} }`).join('\n')}\n`;

/** @param rules - One a line, as YAML. */
const start = async (rules: readonly string[], proxies = '127.0.0.1'): Promise<Served> =>
  closing(await serve(written(rules, proxies)));

/** Asks as a gateway does that sends `X-Forwarded-...`. */
function ask(
  served: Served,
  { method = 'GET', target = '/api/1', address = '203.0.113.1', headers, to }: Asked = {},
): Promise<Answer> {
  const fields = {
    ...(method === null ? {} : { 'X-Forwarded-Method': method }),
    ...(target === null ? {} : { 'X-Forwarded-Uri': target }),
    ...(address === null ? {} : { 'X-Forwarded-For': address }),
    ...headers,
  };
  return send(served.port('http'), { method: to?.method ?? 'GET', path: to?.path ?? '/auth', headers: fields });
}

async function askAll(served: Served, all: readonly Asked[]): Promise<number[]> {
  const found: number[] = [];
  for (const { times = 1, ...asked } of all) {
    for (let i = 0; i < times; i++) found.push((await ask(served, asked)).status);
  }
  return found;
}

const limit = (units: number): string => `policy: { fixedWindow: { limit: ${String(units)}, window: 1h } }`;
const detailOf = ({ body }: Answer): string => (JSON.parse(body) as { detail: string }).detail;
const policiesOf = ({ headers }: Answer): string[] =>
  [...String(headers['ratelimit-policy'] ?? '').matchAll(/"([\w-]+)"/g)].map(([, name]) => name as string);
const API = `name: api, match: { paths: ['/api/*'] }, policy: { fixedWindow: { limit: 2, window: 1m } }`;

describe('an answer to a gateway', () => {
  it('does not wait for a body, and keeps the connection', async () => {
    const served = await start([API]);
    const asked = (fields: string, body: string): string =>
      `POST /auth HTTP/1.1\r\nHost: sluice\r\nX-Forwarded-Uri: /api/1\r\nX-Forwarded-Method: POST\r\nX-Forwarded-For: 203.0.113.1\r\n${fields}\r\n\r\n${body}`;
    const answers = await exchange(
      served.port('http'),
      asked('Content-Length: 5', 'hello') +
        asked('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n') +
        asked('Content-Length: 100000\r\nConnection: close', 'x'.repeat(100_000)),
    );

    expect(statuses(answers)).toEqual([200, 200, 429]);
  });

  it('follows the configuration: what was counted stays, and other proxies or no rules at all apply at once', async () => {
    const served = await start([API]);
    const before = await askAll(served, [{ times: 2 }]);
    await served.reload(written([API.replace('limit: 2', 'limit: 3')], '127.0.0.1'));
    const after = await askAll(served, [{ times: 2 }]);
    await served.reload(written([API], '127.0.0.2'));
    const others = await askAll(served, [{}]);
    await served.reload('domain: edge\ndescriptors: []');

    expect([before, after, others]).toEqual([[200, 200], [200, 429], [403]]);
    expect(detailOf(await ask(served))).toBe('the configuration has no forward_auth');
  });
});

const PREFLIGHT = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' };
const KEYED = "match: { paths: ['/a/*', '/b/*'] }";
const DIFFERENT: readonly Asked[] = [
  ...[{ target: '/a/1' }, { target: '/a/2' }, { target: '/b/1' }, { target: '/a/1', method: 'POST' }],
  { target: '/a/1', address: '203.0.113.2' },
  { target: '/a/1', headers: { 'X-Tenant': 'blue' } },
];
const named = (method: string): readonly Asked[] => [{ method }];

describe('requests are held', () => {
  it.each(
    Object.entries<readonly [readonly string[], readonly Asked[], readonly number[]]>({
      'to a rule of their method in capitals': [
        [`match: { methods: [POST] }, ${limit(1)}`],
        [{ method: 'post', times: 2 }],
        [200, 429],
      ],
      'at their cost': [[`cost: 3, ${limit(7)}`], [{ times: 3 }], [200, 200, 429]],
      'to the rules of every method if none is stated': [
        [`match: { paths: [/login], methods: [POST] }, ${limit(1)}`],
        [
          { target: '/login', method: null },
          { target: '/login', method: 'POST' },
        ],
        [200, 429],
      ],
      'to what Envoy asks below /auth, with the method': [
        [`match: { paths: ['/orders/*'], methods: [POST] }, key: [ip, route, method], ${limit(1)}`],
        [
          { target: null, method: null, to: { path: '/auth/orders/1?page=2', method: 'POST' }, times: 2 },
          { target: '/orders/2', method: 'POST' },
        ],
        [200, 429, 429],
      ],
      'by their address': [[`${KEYED}, key: ip, ${limit(1)}`], DIFFERENT, [200, 429, 429, 429, 200, 429]],
      'by their route': [[`${KEYED}, key: route, ${limit(1)}`], DIFFERENT, [200, 429, 200, 429, 429, 429]],
      'by their method': [[`${KEYED}, key: method, ${limit(1)}`], DIFFERENT, [200, 429, 429, 200, 429, 429]],
      'all together': [[`${KEYED}, key: all, ${limit(1)}`], DIFFERENT, [200, 429, 429, 429, 429, 429]],
      'by address and route': [[`${KEYED}, key: [ip, route], ${limit(1)}`], DIFFERENT, [200, 429, 200, 429, 200, 429]],
      'by a field, without which they get 403': [
        [`${KEYED}, key: 'header:X-Tenant', ${limit(1)}`],
        DIFFERENT,
        [403, 403, 403, 403, 403, 200],
      ],
      'by methods that Node knows, and one for all that clients invent': [
        [`key: [ip, method], ${limit(1)}`],
        ['GET', 'PURGE', 'A', 'B', 'get'].flatMap(named),
        [200, 200, 200, 429, 429],
      ],
      'to limits of one rule each, whatever its policy is called': [
        ['one', 'two'].map((name) => `match: { paths: [/${name}] }, ${limit(1).replace('1h', '1h, name: api')}`),
        [
          { target: '/one', times: 2 },
          { target: '/two', times: 2 },
        ],
        [200, 429, 200, 429],
      ],
      'to several patterns of one rule by a path that may be either': [
        [`match: { paths: ['/a/*', '/b/*'] }, key: [ip, route], ${limit(2)}`],
        [{ target: '/a/..%2fb/x', times: 2 }, { target: '/a/x' }, { target: '/b/x' }, { target: '/a/..%2fb/x' }],
        [200, 200, 429, 429, 429],
      ],
      'to a budget of their own as preflights': [
        [limit(2)],
        [{ method: 'OPTIONS', headers: PREFLIGHT, times: 3 }, { times: 3 }],
        [200, 200, 429, 200, 200, 429],
      ],
    }),
  )('%s', async (_how, [rules, asked, expected]) => {
    expect(await askAll(await start(rules), asked)).toEqual(expected);
  });

  it('to the first rule whose path and method match', async () => {
    const served = await start([
      `name: login, match: { paths: [/login, /signup], methods: [POST] }, ${limit(5)}`,
      `name: write, match: { methods: [POST, PUT] }, ${limit(5)}`,
      `name: api, match: { paths: ['/api/*'] }, ${limit(5)}`,
      `name: head, match: { paths: [/head], methods: [HEAD] }, ${limit(5)}`,
      `name: get, match: { paths: [/head], methods: [GET] }, ${limit(5)}`,
    ]);
    const rows: readonly [string, string, string[]][] = [
      ['POST', '/signup?next=/', ['login']],
      ['GET', '/login', []],
      ['POST', '/api/1', ['write']],
      ['DELETE', '/api', ['api']],
      ['POST', 'http:/login', ['login']],
      ['OPTIONS', '*', []],
      ['HEAD', '/head', ['head', 'get']],
    ];
    for (const [method, target, names] of rows)
      expect(policiesOf(await ask(served, { method, target }))).toEqual(names);
  });

  it('to the rule of each reading of their path, in one decision, and are not free if one reading is', async () => {
    const rules = [
      `name: login, match: { paths: [/login] }, ${limit(1)}`,
      `name: static, match: { paths: ['/static/*'] }, ${limit(5)}`,
    ];
    const served = await start(rules);
    const target = '/static/..%2flogin';
    const both = policiesOf(await ask(served, { target }));
    const denied = await ask(served, { target });
    const free = await start([`match: { paths: ['/static/*'] }, skip: true`, ...rules]);

    expect([both, denied.status]).toEqual([['login', 'static'], 429]);
    expect(denied.headers['ratelimit']).toMatch(/^"login";r=0;t=\d+, "static";r=4;t=\d+$/);
    for (const spelt of [target, '/static/../login', '//static/login', '/STATIC/../Login']) {
      expect(policiesOf(await ask(free, { target: spelt }))).toEqual(['login']);
    }
    expect(detailOf(await ask(served, { target: `/%${'25'.repeat(40)}61` }))).toBe(
      'the path can be read in too many ways',
    );
  });
});

describe('what a gateway states', () => {
  it('is believed of one in trusted_proxies alone: others get 403, and nothing is counted', async () => {
    const served = await start([limit(2)], '10.0.0.0/8');
    const answers = [
      await ask(served),
      await ask(served, { target: null }),
      await ask(served, { to: { path: '/auth/x' } }),
    ];
    await served.reload(written([limit(2)], "'::ffff:127.0.0.1'"));

    for (const answer of answers) {
      expect(answer.status).toBe(403);
      expect(detailOf(answer)).toContain('trusted_proxies');
    }
    expect(await askAll(served, [{ times: 3 }])).toEqual([200, 200, 429]);
  });

  it('warns once if it names no client, and a limit by address would count all of them together', async () => {
    const served = await start([`name: by-route, match: { paths: [/all] }, key: route, ${limit(9)}`, limit(9)]);
    const emitted = jest.spyOn(process, 'emitWarning');
    const warned = (): number => emitted.mock.calls.filter(([text]) => String(text).includes('sends neither')).length;
    await askAll(served, [{ target: '/all', address: null }]);
    const before = warned();
    await askAll(served, [{ address: null, times: 2 }]);

    expect([before, warned()]).toEqual([0, 1]);
    emitted.mockRestore();
  });

  it.each<[string, string, Asked]>([
    ['the last address that is no proxy', '203.0.113.1', { address: '6.6.6.6, 203.0.113.1' }],
    ['that before proxies', '203.0.113.1', { address: '6.6.6.6, 203.0.113.1, 10.1.2.3, 127.0.0.1' }],
    ['all of a /64', '2001:db8:1:2::1', { address: '[2001:DB8:1:2:3:4:5:6]:4711' }],
    ['the first proxy if all are', '10.1.1.1', { address: '10.1.1.1, 10.2.2.2' }],
    ['the gateway itself if it names none', '127.0.0.1', { address: null }],
    [
      'X-Real-IP if there is no X-Forwarded-For',
      '203.0.113.1',
      { address: null, headers: { 'X-Real-IP': '203.0.113.1' } },
    ],
    [
      'not chosen by other fields',
      '203.0.113.1',
      { headers: { 'CF-Connecting-IP': '6.6.6.6', Forwarded: 'for=6.6.6.6' } },
    ],
  ])('of the client is %s', async (_what, address, other) => {
    const served = await start([limit(2)], '127.0.0.1, 10.0.0.0/8');

    expect(await askAll(served, [{ address, times: 2 }, other, { address: '203.0.113.2' }])).toEqual([
      200, 200, 429, 200,
    ]);
  });

  it.each<[string, Asked, string]>([
    ...['unknown', '', '203.0.113.1, x'].map((address): [string, Asked, string] => [
      `the address ${JSON.stringify(address)}`,
      { address },
      'could not be identified',
    ]),
    ['no target', { target: null }, 'X-Forwarded-Uri'],
    ['two targets', { headers: { 'X-Original-URI': '/free' } }, 'contradict'],
    ['two targets, as a URL', { headers: { 'X-Original-URL': 'https://shop.example/free' } }, 'contradict'],
    ['a target twice', { headers: { 'X-Forwarded-Uri': ['/free', '/api/1'] }, target: null }, 'contradict'],
    ['two targets, by prefix', { to: { path: '/auth/free' } }, 'contradict'],
    ['two methods', { headers: { 'X-Original-Method': 'POST' } }, 'contradict'],
    ['two methods, by prefix', { target: null, to: { path: '/auth/api/1', method: 'POST' } }, 'contradict'],
    ['two addresses', { headers: { 'X-Real-IP': '203.0.113.2' } }, 'contradict'],
    ['two addresses in a list', { headers: { 'X-Real-IP': '203.0.113.1, 203.0.113.2' } }, 'contradict'],
  ])('gets 403 for %s', async (_what, asked, detail) => {
    const answer = await ask(await start([limit(1)]), asked);

    expect(answer.status).toBe(403);
    expect(detailOf(answer)).toContain(detail);
  });

  it('may be the same in both families and in other spellings', async () => {
    const headers = {
      'X-Original-URI': '/api/1',
      'X-Original-URL': 'https://shop.example/api/1',
      'X-Original-Method': 'GET',
      'X-Real-IP': '::ffff:203.0.113.1',
    };

    expect(await askAll(await start([limit(1)]), [{ headers }])).toEqual([200]);
  });
});
