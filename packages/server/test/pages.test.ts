import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type RunningServer } from '../src/create-server.ts';
import { ask as askGrpc, connect as connectGrpc, descriptor } from './rls/running-service.ts';

const TOKEN = 'token-of-the-tests';
const folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
const config = join(folder, 'limits.yaml');
writeFileSync(
  config,
  'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 100 } }]\nlimits: { login: { fixedWindow: { limit: 100, window: 1h } } }\nforward_auth: { trusted_proxies: [127.0.0.1], rules: [{ name: orders, policy: { fixedWindow: { limit: 100, window: 1h } } }] }\n',
);
const lines: string[] = [];
const log = (line: string): void => void lines.push(line);
const settings = { config, grpc: 'off', token: TOKEN, hostNames: ['Limits.internal'], log } as const;

let server: RunningServer;
beforeAll(async () => {
  server = await createServer({ ...settings, grpc: 0, http: 0, admin: 0 });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Operation = readonly [listener: 'http' | 'admin', method: 'GET' | 'HEAD' | 'POST', path: string, body?: string];

function ask([listener, method, path, body]: Operation, headers: OutgoingHttpHeaders): Promise<Answer> {
  const address = server.addresses[listener] ?? '';
  const { hostname, port } = new URL(`http://${address}`);
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    request({ hostname, port, method, path, headers: { ...type, ...headers } }, (response) => {
      text(response).then((answered) => {
        resolve({ status: response.statusCode, headers: response.headers, body: answered });
      }, reject);
    })
      .on('error', reject)
      .end(body);
  });
}

const keys = JSON.stringify({ keys: { login: 'ann' } });
const bobs = JSON.stringify({ keys: { login: 'bob' } });
const OPERATIONS: readonly Operation[] = [
  ['http', 'GET', '/metrics'],
  ['admin', 'GET', '/metrics'],
  ['admin', 'GET', '/rlconfig'],
  ['admin', 'GET', '/stats'],
  ['admin', 'GET', '/'],
  ['http', 'POST', '/v1/consume', keys],
  ['admin', 'POST', '/v1/reset', keys],
  [
    'http',
    'POST',
    '/json',
    JSON.stringify({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] }),
  ],
];

describe.each(OPERATIONS)('on the loopback: %s %s %s', (...operation) => {
  it.each([
    ['under a foreign name', { Host: 'rebound.example:6070' }, '--host-name rebound.example'],
    ['of another page', { Host: 'localhost:6070', Origin: 'https://elsewhere.example' }, 'Origin'],
    ['of a page without an origin', { Host: 'localhost:6070', Origin: 'null' }, 'Origin'],
    ['of another page, without Origin', { Host: 'localhost:6070', 'Sec-Fetch-Site': 'cross-site' }, 'Sec-Fetch-Site'],
    ['of a page on another port', { Host: 'localhost:6070', 'Sec-Fetch-Site': 'same-site' }, 'Sec-Fetch-Site'],
  ])('a request %s gets 403, which names what to do, and with the token its answer', async (_what, fields, named) => {
    const { status, body } = await ask(operation, fields);

    expect(status).toBe(403);
    expect(JSON.parse(body)).toMatchObject({ detail: expect.stringContaining(named) });
    const trusted = await ask(operation, { ...fields, authorization: `Bearer ${TOKEN}` });
    expect([200, 204]).toContain(trusted.status);
  });

  it.each([
    [{ Host: 'localhost:6070' }],
    [{ Host: '127.0.0.1' }],
    [{ Host: '[::1]:8080' }],
    [{ Host: 'limits.INTERNAL:6070' }],
    [{ Host: 'localhost:6070', Origin: 'http://localhost:6070', 'Sec-Fetch-Site': 'same-origin' }],
    [{ Host: 'localhost:6070', 'Sec-Fetch-Site': 'none' }],
  ])('a request with %j is answered', async (fields) => {
    expect([200, 204]).toContain((await ask(operation, fields)).status);
  });
});

describe('HEAD of /metrics on the admin listener', () => {
  it('answers 200 with the fields of GET, and without a body', async () => {
    const [got, head] = await Promise.all([
      ask(['admin', 'GET', '/metrics'], {}),
      ask(['admin', 'HEAD', '/metrics'], {}),
    ]);

    expect(got.body).not.toBe('');
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers['content-type']).toBe(got.headers['content-type']);
  });
});

/** What gateways send for a page of another site: fields of its browser beside their own. */
describe('a gateway on the loopback', () => {
  const browser = {
    Origin: 'https://elsewhere.example',
    Referer: 'https://elsewhere.example/',
    'Sec-Fetch-Site': 'cross-site',
    'Sec-Fetch-Mode': 'cors',
    'Sec-Fetch-Dest': 'empty',
    Cookie: 'session=1',
  };

  it.each<[string, Operation, OutgoingHttpHeaders]>([
    // proxy_set_header Host is not written: the name of the upstream, or of a variable, whatever it is
    ['nginx', ['http', 'GET', '/auth'], { Host: 'sluice', 'X-Original-URI': '/orders', 'X-Original-Method': 'POST' }],
    [
      'Caddy',
      ['http', 'GET', '/auth'],
      {
        ...{ Host: 'shop.example', 'X-Forwarded-Uri': '/orders', 'X-Forwarded-Method': 'POST' },
        ...{ 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'shop.example' },
      },
    ],
    [
      'ext_authz of Envoy',
      ['http', 'POST', '/auth/orders'],
      { Host: 'shop.example', 'Content-Length': '0', 'X-Forwarded-For': '203.0.113.9', 'X-Envoy-Internal': 'true' },
    ],
  ])('that is %s is answered with the fields of a browser', async (_name, operation, fields) => {
    const { status, headers } = await ask(operation, { ...fields, ...browser });

    expect([status, headers['ratelimit-policy']]).toEqual([200, '"orders";q=100;w=3600']);
  });

  it('that calls gRPC is answered, whatever name and origin it sends', async () => {
    const client = connectGrpc(Number(server.addresses.grpc?.split(':').at(-1)), {
      'grpc.default_authority': 'shop.example',
    });
    const call = { domain: 'shop', descriptors: [descriptor('user=ann')] };

    const { overallCode } = await askGrpc(client, call, {
      fields: { origin: browser.Origin, 'sec-fetch-site': 'cross-site' },
    });
    client.close();

    expect(overallCode).toBe('OK');
  });
});

describe("the operators' page", () => {
  const ofPage = { 'X-Sluice-Page': '1', Host: 'localhost:6070' };
  const block = (id: unknown): Operation => [
    'admin',
    'POST',
    '/block',
    JSON.stringify({ id, duration: '1h', reason: 'floods', by: 'ann' }),
  ];

  it('is on the listener of operators: it shows who is denied, and blocks a key for every protocol', async () => {
    for (let i = 0; i < 101; i++) await ask(['http', 'POST', '/v1/consume', bobs], {});
    const page = await ask(['admin', 'GET', '/'], {});
    const snapshot = await ask(['admin', 'GET', '/snapshot'], {});
    const { denied } = JSON.parse(snapshot.body) as { denied: { keys: { key: string; id: string }[] } };
    const blocked = await ask(block(denied.keys[0]?.id), ofPage);
    const peeked = await ask(['http', 'POST', '/v1/peek', bobs], {});

    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(denied.keys).toEqual([
      expect.objectContaining({ key: 'bob', limiter: 'service', policy: 'login', count: 1 }),
    ]);
    expect([blocked.status, JSON.parse(blocked.body)]).toEqual([200, expect.objectContaining({ outcome: 'blocked' })]);
    expect(JSON.parse(peeked.body)).toMatchObject({ outcome: 'blocked' });
    expect(lines.filter((line) => line.includes('used the page'))).toEqual([
      '"ann" used the page: block "bob of service" for 1h ("floods")',
    ]);
  });

  it('changes nothing for pages of other sites', async () => {
    const { status } = await ask(block('x'), { ...ofPage, 'Sec-Fetch-Site': 'cross-site' });
    const withToken = await ask(block('x'), {
      ...ofPage,
      'Sec-Fetch-Site': 'cross-site',
      authorization: `Bearer ${TOKEN}`,
    });

    expect([status, withToken.status]).toEqual([403, 403]);
  });

  it('shares nothing in memory', async () => {
    const { body } = await ask(['admin', 'GET', '/snapshot'], {});

    expect(JSON.parse(body)).toMatchObject({ shared: null });
  });

  it('is at / alone', async () => {
    expect((await ask(['admin', 'GET', '/limits'], {})).status).toBe(404);
    expect((await ask(['http', 'GET', '/'], {})).status).toBe(404);
  });

  it('that is open does not hold up the end of the service', async () => {
    const other = await createServer({ ...settings, http: 'off', admin: 0, drainMs: 60_000 });
    const response = await fetch(`http://${other.addresses.admin ?? ''}/events`);

    await other.close();

    expect(await response.text()).toMatch(/^data: \{/);
  });

  it('asks for the token where strangers reach the listener, as the password of any name', async () => {
    const other = await createServer({ ...settings, http: 'off', admin: '0.0.0.0:0' });
    const url = `http://${(other.addresses.admin ?? '').replace('0.0.0.0', '127.0.0.1')}`;
    const basic = { authorization: `Basic ${Buffer.from(`ann:${TOKEN}`).toString('base64')}` };

    const stranger = await fetch(`${url}/`);
    const known = await fetch(`${url}/snapshot`, { headers: basic });
    await other.close();

    expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Basic /),
    ]);
    expect([known.status, await known.json()]).toEqual([200, expect.objectContaining({ operator: 'ann' })]);
  });

  it('says that it needs a token, where strangers reach the listener and there is none', async () => {
    const other = await createServer({ ...settings, token: undefined, http: 'off', admin: '0.0.0.0:0' });
    const url = `http://${(other.addresses.admin ?? '').replace('0.0.0.0', '127.0.0.1')}`;

    const answer = await fetch(`${url}/`);
    await other.close();

    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('--token')]);
  });

  it('knows the limits of the file that serves now', async () => {
    const own = join(folder, 'own.yaml');
    const limits = (text: string): void => {
      writeFileSync(own, `limits: { ${text} }\n`);
    };
    limits('login: { fixedWindow: { limit: 5, window: 1h } }, old: { fixedWindow: { limit: 5, window: 1h } }');
    const other = await createServer({ ...settings, config: own, http: 'off', admin: 0 });
    const shown = async (): Promise<unknown> => {
      const response = await fetch(`http://${other.addresses.admin ?? ''}/snapshot`);
      const { limiters } = (await response.json()) as { limiters: { policies: { name: string; text: string }[] }[] };
      return limiters[0]?.policies.map(({ name, text: numbers }) => `${name} ${numbers}`);
    };

    const before = await shown();
    limits('login: { fixedWindow: { limit: 7, window: 1h } }, young: { fixedWindow: { limit: 5, window: 1h } }');
    await other.reload();
    const after = await shown();
    limits('login: { fixedWindow: { limit: 9, window: 1h } }, bad: {}');
    await other.reload();
    const afterError = await shown();
    await other.close();

    expect(before).toEqual(['login fixedWindow 5 per 1h', 'old fixedWindow 5 per 1h']);
    expect(after).toEqual(['login fixedWindow 7 per 1h', 'young fixedWindow 5 per 1h']);
    expect(afterError).toEqual(after);
  });
});

describe('health', () => {
  it('is told to every request', async () => {
    const fields = { Host: 'shop.example', Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' };

    expect((await ask(['http', 'GET', '/healthcheck'], fields)).status).toBe(200);
    expect((await ask(['admin', 'GET', '/healthcheck'], fields)).status).toBe(200);
  });
});
