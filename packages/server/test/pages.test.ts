import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import { send, type Answer, type Sent } from './send.ts';
import { serve, type Served } from './serve.ts';

expectWarnings('SLUICE_PROXY_NOT_TRUSTED');

const TOKEN = 'token-of-the-tests';
const LIMITS = `
domain: shop
descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 100 } }]
limits: { login: { fixedWindow: { limit: 100, window: 1h } } }
forward_auth: { trusted_proxies: [127.0.0.1], rules: [{ name: orders, policy: { fixedWindow: { limit: 100, window: 1h } } }] }
`;
const lines: string[] = [];
const log = (line: string): void => void lines.push(line);

let served: Served;
beforeAll(async () => {
  served = await serve(LIMITS, { admin: 0, token: TOKEN, log });
});
afterAll(async () => {
  await served.close();
});

type Operation = readonly [listener: 'http' | 'admin', method: 'GET' | 'HEAD' | 'POST', path: string, body?: object];

/** As fetch, which cannot choose the fields of a browser. */
function ask([listener, method, path, body]: Operation, headers: Sent['headers'] = {}, of = served): Promise<Answer> {
  if (body === undefined) return send(of.port(listener), { method, path, headers });
  return send(of.port(listener), {
    method,
    path,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const keys = { keys: { login: 'ann' } };
const OPERATIONS: readonly Operation[] = [
  ['http', 'GET', '/metrics'],
  ['admin', 'GET', '/metrics'],
  ['admin', 'GET', '/'],
  ['http', 'POST', '/v1/consume', keys],
  ['admin', 'POST', '/v1/reset', keys],
  ['http', 'POST', '/json', { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] }],
];

describe.each(OPERATIONS)('on the loopback: %s %s %s', (...operation) => {
  it.each([
    ['under a foreign name', { Host: 'rebound.example:6070' }, 'rebound.example'],
    ['of another page', { Host: 'localhost:6070', Origin: 'https://elsewhere.example' }, 'Origin'],
    ['of a page without an origin', { Host: 'localhost:6070', Origin: 'null' }, 'Origin'],
    ['of another page, without Origin', { Host: 'localhost:6070', 'Sec-Fetch-Site': 'cross-site' }, 'Sec-Fetch-Site'],
    ['of a page on another port', { Host: 'localhost:6070', 'Sec-Fetch-Site': 'same-site' }, 'Sec-Fetch-Site'],
  ])('a request %s gets 403, which names what to do, and with the token its answer', async (_what, fields, named) => {
    const { status, body } = await ask(operation, fields);
    const trusted = await ask(operation, { ...fields, authorization: `Bearer ${TOKEN}` });

    expect(status).toBe(403);
    expect(JSON.parse(body)).toMatchObject({ detail: expect.stringContaining(named) });
    expect([200, 204]).toContain(trusted.status);
  });

  it('a request by a name of the machine, or of its own page, is answered', async () => {
    for (const fields of [
      { Host: '127.0.0.1' },
      { Host: '[::1]:8080' },
      { Host: 'LOCALHOST:6070' },
      { Host: 'localhost:6070', Origin: 'http://localhost:6070', 'Sec-Fetch-Site': 'same-origin' },
      { Host: 'localhost:6070', 'Sec-Fetch-Site': 'none' },
    ]) {
      expect([200, 204]).toContain((await ask(operation, fields)).status);
    }
  });
});

it('HEAD of /metrics answers with the fields of GET, and without a body', async () => {
  const [got, head] = [await ask(['admin', 'GET', '/metrics']), await ask(['admin', 'HEAD', '/metrics'])];

  expect(got.body).toContain('sluice_config_load_success_total 1');
  expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-type': got.headers['content-type'] } });
});

/** What gateways send for a page of another site: fields of its browser beside their own. */
describe('the fields of a browser that a gateway passes on', () => {
  const browser = { Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site', Cookie: 'session=1' };

  it.each<[string, Operation, NonNullable<Sent['headers']>]>([
    ['nginx', ['http', 'GET', '/auth'], { Host: 'sluice', 'X-Original-URI': '/orders', 'X-Original-Method': 'POST' }],
    [
      'Caddy',
      ['http', 'GET', '/auth'],
      { Host: 'shop.example', 'X-Forwarded-Uri': '/orders', 'X-Forwarded-For': '203.0.113.9' },
    ],
    ['ext_authz of Envoy', ['http', 'POST', '/auth/orders'], { Host: 'shop.example', 'Content-Length': '0' }],
  ])('do not keep %s from its answer', async (_name, operation, fields) => {
    const { status, headers } = await ask(operation, { ...fields, ...browser });

    expect([status, headers['ratelimit-policy']]).toEqual([200, '"orders";q=100;w=3600']);
  });

  it('do not keep anyone from what says whether the service lives', async () => {
    expect(await ask(['http', 'GET', '/healthcheck'], browser)).toMatchObject({ status: 200, body: 'OK' });
    expect((await ask(['admin', 'HEAD', '/healthcheck'], browser)).status).toBe(200);
    expect((await ask(['http', 'POST', '/healthcheck'], browser)).status).toBe(405);
  });
});

describe("the operators' page", () => {
  const ofPage = { 'X-Sluice-Page': '1', Host: 'localhost:6070' };
  const block = (id: unknown): Operation => [
    'admin',
    'POST',
    '/block',
    { id, duration: '1h', reason: 'floods', by: 'ann' },
  ];

  it('is on the listener of operators: it shows who is denied, and blocks a key for every protocol', async () => {
    const bob = { keys: { login: 'bob' } };
    await ask(['http', 'POST', '/v1/consume', { ...bob, cost: 100 }]);
    await ask(['http', 'POST', '/v1/consume', bob]);
    const page = await ask(['admin', 'GET', '/']);
    const { denied } = JSON.parse((await ask(['admin', 'GET', '/snapshot'])).body) as {
      denied: { keys: { id: string }[]; others: unknown };
    };
    const blocked = await ask(block(denied.keys[0]?.id), ofPage);
    const peeked = await ask(['http', 'POST', '/v1/peek', bob]);

    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(denied).toMatchObject({
      keys: [{ key: 'bob', limiter: 'service', policy: 'login', count: 1 }],
      others: null,
    });
    expect([blocked.status, JSON.parse(blocked.body)]).toEqual([200, expect.objectContaining({ outcome: 'blocked' })]);
    expect(JSON.parse(peeked.body)).toMatchObject({ outcome: 'blocked' });
    expect(lines.filter((line) => line.includes('used the page'))).toEqual([
      '"ann" used the page: block "bob of service:login" for 1h ("floods")',
    ]);
  });

  it('changes nothing for pages of other sites', async () => {
    const foreign = { ...ofPage, 'Sec-Fetch-Site': 'cross-site' };

    expect((await ask(block('x'), foreign)).status).toBe(403);
    expect((await ask(block('x'), { ...foreign, authorization: `Bearer ${TOKEN}` })).status).toBe(403);
    for (const path of ['/limits', '/auth']) expect((await ask(['admin', 'GET', path])).status).toBe(404);
    expect((await ask(['http', 'GET', '/'])).status).toBe(404);
  });

  it('asks strangers for the token, as the password of any name, without which it is not served to them', async () => {
    const other = await serve(LIMITS, { http: '0.0.0.0:0', admin: '0.0.0.0:0', token: TOKEN });
    const authorization = `Basic ${Buffer.from(`ann:${TOKEN}`).toString('base64')}`;
    const stranger = await ask(['admin', 'GET', '/'], {}, other);
    const known = await ask(['admin', 'GET', '/snapshot'], { authorization }, other);
    const statuses = [];
    for (const fields of [{}, { authorization: `Bearer ${TOKEN}` }])
      for (const operation of [OPERATIONS[0], OPERATIONS[1], OPERATIONS[4]] as const)
        statuses.push((await ask(operation as Operation, fields, other)).status);
    await other.close();

    expect([stranger.status, stranger.headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Basic /)]);
    expect([known.status, JSON.parse(known.body)]).toEqual([200, expect.objectContaining({ operator: 'ann' })]);
    expect(statuses).toEqual([401, 401, 401, 200, 200, 204]); // metrics of both, and a reset
    await expect(serve(LIMITS, { http: 'off', admin: '0.0.0.0:0' })).rejects.toThrow('token must be given');
  });

  it('knows the limits of the file that serves now', async () => {
    const limits = (login: number, more: string): string =>
      `limits: { login: { fixedWindow: { limit: ${String(login)}, window: 1h } }, ${more} }\n`;
    const five = '{ fixedWindow: { limit: 5, window: 1h } }';
    const other = await serve(limits(5, `old: ${five}`), { http: 'off', admin: 0 });
    const shown = async (): Promise<unknown> => {
      const { body } = await ask(['admin', 'GET', '/snapshot'], {}, other);
      const { limiters } = JSON.parse(body) as { limiters: { policies: { name: string; text: string }[] }[] };
      return limiters[0]?.policies.map(({ name, text: numbers }) => `${name} ${numbers}`);
    };
    const before = await shown();
    await other.reload(limits(7, `young: ${five}`));
    const after = await shown();
    await other.reload(limits(9, 'bad: {}'));
    const afterError = await shown();
    await other.close();

    expect(before).toEqual(['login fixedWindow 5 per 1h', 'old fixedWindow 5 per 1h']);
    expect(after).toEqual(['login fixedWindow 7 per 1h', 'young fixedWindow 5 per 1h']);
    expect(afterError).toEqual(after);
  });
});
