import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { expectWarnings } from '@sluice/testkit';
import { AuthService, detailOf, type AuthRequest } from './auth-service.ts';

expectWarnings('SLUICE_KEY_MISSING');

let auth: AuthService;

/** @param rules - One a line, as YAML. */
async function start(...rules: readonly string[]): Promise<AuthService> {
  const lines = rules.map((rule) => `    - { ${rule} }`);
  auth = await AuthService.start(`forward_auth:\n  trusted_proxies: [127.0.0.1]\n  rules:\n${lines.join('\n')}\n`);
  return auth;
}

const limit = (units: number): string => `policy: { fixedWindow: { limit: ${String(units)}, window: 1h } }`;

/** The names of the policies in the answer. */
async function policiesOf(asked: AuthRequest): Promise<string[]> {
  const { headers } = await auth.ask(asked);
  return [...(headers['ratelimit-policy'] ?? '').matchAll(/"([\w-]+)"/g)].map(([, name]) => name as string);
}

afterEach(async () => {
  await auth.close();
});

describe('the rule of a request', () => {
  it('is the first whose path and method match', async () => {
    await start(
      `name: login, match: { paths: [/login, /signup], methods: [POST] }, ${limit(5)}`,
      `name: write, match: { methods: [POST, PUT] }, ${limit(5)}`,
      `name: api, match: { paths: ['/api/*'] }, ${limit(5)}`,
    );

    expect(await policiesOf({ target: '/login', method: 'POST' })).toEqual(['login']);
    expect(await policiesOf({ target: '/signup?next=/', method: 'POST' })).toEqual(['login']);
    expect(await policiesOf({ target: '/login', method: 'GET' })).toEqual([]);
    expect(await policiesOf({ target: '/api/1', method: 'POST' })).toEqual(['write']);
    expect(await policiesOf({ target: '/api/1', method: 'DELETE' })).toEqual(['api']);
    expect(await policiesOf({ target: '/api', method: 'GET' })).toEqual(['api']);
    expect(await policiesOf({ target: '*', method: 'OPTIONS' })).toEqual([]);
  });

  it('is that of GET for HEAD', async () => {
    await start(`name: read, match: { methods: [GET] }, key: [ip, method], ${limit(2)}`);

    expect(await auth.statuses(1, { method: 'HEAD' })).toEqual([200]);
    expect(await auth.statuses(2)).toEqual([200, 429]);
    expect(await auth.statuses(1, { method: 'HEAD' })).toEqual([429]);
  });

  it('is for HEAD the first of GET alone, unless a rule names HEAD', async () => {
    await start(`name: read, match: { methods: [GET] }, ${limit(5)}`, `name: rest, ${limit(5)}`);
    const asOfGet = await policiesOf({ method: 'HEAD' });
    await auth.close();
    await start(
      `name: read, match: { methods: [GET] }, ${limit(5)}`,
      `name: head, match: { methods: [HEAD] }, ${limit(5)}`,
      `name: rest, ${limit(5)}`,
    );

    expect(asOfGet).toEqual(['read']);
    expect(await policiesOf({ method: 'HEAD' })).toEqual(['read', 'head']);
    expect(await policiesOf({ method: 'GET' })).toEqual(['read']);
  });

  it('is found whatever the capitals of a method', async () => {
    await start(`name: write, match: { methods: [POST] }, ${limit(5)}`);

    expect(await policiesOf({ method: 'post' })).toEqual(['write']);
  });

  it('lets a request pass without a decision where it skips', async () => {
    await start(`match: { paths: [/health] }, skip: true`, `name: rest, ${limit(1)}`);

    expect(await auth.statuses(3, { target: '/health' })).toEqual([200, 200, 200]);
    expect(await policiesOf({ target: '/health' })).toEqual([]);
    expect(await auth.statuses(2)).toEqual([200, 429]);
  });

  it('takes its cost', async () => {
    await start(`name: report, cost: 3, ${limit(7)}`);

    expect(await auth.statuses(3)).toEqual([200, 200, 429]);
  });
});

describe('a gateway that does not state', () => {
  it('the target gets 403', async () => {
    await start(`name: all, ${limit(1)}`);

    const { status, body } = await auth.ask({ target: null });

    expect(status).toBe(403);
    expect(detailOf(body)).toContain('X-Forwarded-Uri');
  });

  it('the method is held to the rules of every method', async () => {
    await start(
      `name: read, match: { methods: [GET] }, ${limit(5)}`,
      `name: login, match: { paths: [/login], methods: [POST] }, ${limit(1)}`,
    );

    expect(await policiesOf({ target: '/login', method: null })).toEqual(['read', 'login']);
    expect(await auth.statuses(1, { target: '/login', method: 'POST' })).toEqual([429]);
    expect(await policiesOf({ target: '/x', method: null })).toEqual(['read']);
  });

  it('either, but asks with the method and below /auth, states both so: Envoy does', async () => {
    await start(
      `name: orders, match: { paths: ['/orders/*'], methods: [POST] }, key: [ip, route, method], ${limit(1)}`,
    );
    const asked = { target: null, method: null, to: { path: '/auth/orders/1?page=2', method: 'POST' } };

    expect(await auth.statuses(2, asked)).toEqual([200, 429]);
    expect(await auth.statuses(1, { target: '/orders/2', method: 'POST' })).toEqual([429]);
    expect(await policiesOf({ ...asked, to: { path: '/auth/orders/1', method: 'GET' } })).toEqual([]);
  });
});

describe('the key of a rule', () => {
  const paths = "match: { paths: ['/a/*', '/b/*'] }";
  const every: readonly AuthRequest[] = [
    { target: '/a/1' },
    { target: '/a/2' },
    { target: '/b/1' },
    { target: '/a/1', method: 'POST' },
    { target: '/a/1', address: '203.0.113.2' },
    { target: '/a/1', headers: { 'X-Tenant': 'blue' } },
  ];

  it.each([
    ['ip', [200, 429, 429, 429, 200, 429]],
    ['route', [200, 429, 200, 429, 429, 429]],
    ['method', [200, 429, 429, 200, 429, 429]],
    ['all', [200, 429, 429, 429, 429, 429]],
    ['ip, route', [200, 429, 200, 429, 200, 429]],
    ['header:X-Tenant', [403, 403, 403, 403, 403, 200]],
  ])('tells requests apart by %s', async (key, expected) => {
    await start(`name: keyed, ${paths}, key: ['${key.split(', ').join("', '")}'], ${limit(1)}`);

    const statuses = [];
    for (const asked of every) statuses.push((await auth.ask(asked)).status);

    expect(statuses).toEqual(expected);
  });

  it('has the methods that Node knows, and one for all that clients invent', async () => {
    await start(`name: keyed, key: [ip, method], ${limit(1)}`);

    const statuses = [];
    for (const method of ['GET', 'PURGE', 'A', 'B', 'get']) statuses.push((await auth.ask({ method })).status);

    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  it('belongs to one rule, and to forward auth', async () => {
    const store = memoryStore();
    auth = await AuthService.start(
      `
limits: { api: { fixedWindow: { limit: 1, window: 1h } } }
forward_auth:
  trusted_proxies: [127.0.0.1]
  rules:
    - { name: one, match: { paths: [/one] }, policy: { fixedWindow: { limit: 1, window: 1h, name: api } } }
    - { name: two, match: { paths: [/two] }, policy: { fixedWindow: { limit: 1, window: 1h, name: api } } }
`,
      { store },
    );

    expect(await auth.statuses(2, { target: '/one' })).toEqual([200, 429]);
    expect(await auth.statuses(2, { target: '/two' })).toEqual([200, 429]);
  });
});

describe('a path that upstreams may read in several ways', () => {
  it('is held to the rule of each reading, in one decision', async () => {
    await start(
      `name: static, match: { paths: ['/static/*'] }, ${limit(5)}`,
      `name: login, match: { paths: [/login] }, ${limit(1)}`,
    );
    const target = '/static/..%2flogin';

    expect(await policiesOf({ target })).toEqual(['static', 'login']);
    const denied = await auth.ask({ target });

    expect(denied.status).toBe(429);
    expect(denied.headers['ratelimit']).toMatch(/^"static";r=4;t=\d+, "login";r=0;t=\d+$/);
  });

  it('is not free where only one reading is', async () => {
    await start(`match: { paths: ['/static/*'] }, skip: true`, `name: login, match: { paths: [/login] }, ${limit(1)}`);

    for (const target of ['/static/..%2flogin', '/static/../login', '//static/login', '/STATIC/../Login']) {
      expect(await policiesOf({ target })).toEqual(['login']);
    }
    expect((await auth.ask({ target: '/static/x' })).status).toBe(200);
  });

  it('is held to several patterns of one rule, one after the other', async () => {
    await start(`name: forms, match: { paths: ['/a/*', '/b/*'] }, key: [ip, route], ${limit(2)}`);
    const target = '/a/..%2fb/x';

    const both = await auth.statuses(2, { target });
    const one = await auth.statuses(1, { target: '/a/x' });
    const other = await auth.statuses(1, { target: '/b/x' });
    const again = await auth.ask({ target });

    expect([both, one, other]).toEqual([[200, 200], [429], [429]]);
    expect(again.status).toBe(429);
    expect(again.headers['ratelimit-policy']).toBe('"forms";q=2;w=3600');
  });

  it('gets 403 where there are too many', async () => {
    await start(`name: all, ${limit(1)}`);

    const { status, body } = await auth.ask({ target: `/%${'25'.repeat(40)}61` });

    expect(status).toBe(403);
    expect(detailOf(body)).toBe('the path can be read in too many ways');
  });
});

describe('a CORS preflight', () => {
  const preflight = (method: string, target = '/api/1'): AuthRequest => ({
    ...{ method: 'OPTIONS', target },
    headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': method },
  });

  it('has a budget of its own under the rule of the request that it announces, and no fields', async () => {
    await start(`name: orders, match: { methods: [POST] }, key: [ip, route, method], ${limit(2)}`);

    const first = await auth.ask(preflight('POST'));
    const preflights = await auth.statuses(2, preflight('POST'));
    const orders = await auth.statuses(3, { method: 'POST' });

    expect(first.status).toBe(200);
    expect(first.headers).not.toHaveProperty('ratelimit');
    expect([...preflights, ...orders]).toEqual([200, 429, 200, 200, 429]);
    expect(await auth.statuses(3, preflight('GET'))).toEqual([200, 200, 200]);
  });

  it('counts under a rule of OPTIONS too', async () => {
    await start(`name: options, match: { methods: [OPTIONS] }, ${limit(1)}`);

    expect(await auth.statuses(2, preflight('PUT'))).toEqual([200, 429]);
  });

  it('passes where the rule skips', async () => {
    await start(`match: { paths: ['/api/*'] }, skip: true`, `name: rest, ${limit(1)}`);

    expect(await auth.statuses(3, preflight('PUT'))).toEqual([200, 200, 200]);
  });

  it('has 600 a minute for each address where the key is a header field', async () => {
    await start(`name: keyed, key: ['header:x-api-key'], ${limit(1)}`);

    const answers = await Promise.all(Array.from({ length: 610 }, async () => auth.ask(preflight('PUT'))));

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(600);
  });

  it.each<[string, AuthRequest]>([
    ['an OPTIONS alone', { method: 'OPTIONS' }],
    ['one with credentials', { ...preflight('POST'), headers: { ...preflight('POST').headers, Cookie: 'a=b' } }],
  ])('is not %s, which counts', async (_what, asked) => {
    await start(`name: all, ${limit(1)}`);

    expect([...(await auth.statuses(1, asked)), ...(await auth.statuses(1))]).toEqual([200, 429]);
  });
});
