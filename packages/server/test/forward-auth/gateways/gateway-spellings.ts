import { describe, expect, it } from '@jest/globals';
import { spellingsOf, statuses as statusesIn } from '@sluice/testkit';
import { send, type Sent } from '../../send.ts';
import { exchangeBytes, statusesOf } from './client.ts';
import type { GatewayTarget } from './gateway-target.ts';
import { routedApp } from './spelt-application.ts';
import { useStack } from './stack.ts';

const LIMIT = 3;
const policy = `policy: { fixedWindow: { limit: ${String(LIMIT)}, window: 1h } }`;
const login = `name: login, match: { paths: [/login], methods: [POST] }, key: [ip, route], ${policy}`;
const free = `name: free, policy: { fixedWindow: { limit: 1000000, window: 1h } }`;
const byAddress = `name: address, ${policy}`;

/** The bytes of a request with this target. */
function makeBytes(method: string, target: string, fields = ''): string {
  const length = method === 'GET' ? '' : 'Content-Length: 0\r\n';
  return `${method} ${target} HTTP/1.1\r\nHost: test\r\n${length}${fields}Connection: close\r\n\r\n`;
}

/** No spelling of a request gets more than the limit of the route that the application executes. */
export function spellings(target: GatewayTarget): void {
  describe('a limit of a route', () => {
    const stack = useStack(target);
    const sendAll = async (all: readonly string[], method = 'POST'): Promise<void> => {
      for (const one of [...all, ...all]) await exchangeBytes(stack.ports.gateway, makeBytes(method, one));
    };

    it.each([
      ['POST', '/login', '/login', login],
      ['GET', '/users/:id', '/users/1', `name: users, match: { paths: ['/users/*'] }, key: [ip, route], ${policy}`],
    ])('lets no spelling of %s %s exceed it (B1)', async (method, route, plain, rule) => {
      await stack.limit(rule, free);
      const { app, executions } = routedApp([`${method} ${route}`]);
      stack.serve(app);
      await sendAll(spellingsOf(plain), method);

      expect(await statusesOf(stack.ports.gateway, 1, { method, path: plain })).toEqual([429]);
      expect(executions.get(`${method} ${route}`)).toBe(LIMIT);
    });

    it('lets no path through a rule that skips exceed it', async () => {
      await stack.limit(`match: { paths: ['/static/*', /health] }, skip: true`, login);
      const { app, executions } = routedApp(['POST /login'], { normalizesPath: true });
      stack.serve(app);
      const ups = ['..', '%2e%2e', '.%2E', '%252e%252e', '..;', '..%2f', '..%5c', '..\\'];
      await sendAll(
        ups.flatMap((up) => [
          ...[`/static/${up}/login`, `/static/x/${up}/${up}/login`, `//static/${up}/login`, `/STATIC/${up}/LOGIN`],
          ...[`/health/${up}/login`, `/static/${up}//login/`, `http://test/static/${up}/login`],
        ]),
      );
      const plain = await statusesOf(stack.ports.gateway, LIMIT + 1, { method: 'POST', path: '/login' });

      expect([plain.at(-1), executions.get('POST /login')]).toEqual([429, LIMIT]);
    });

    it('is not escaped with fields that applications follow (B2)', async () => {
      await stack.limit(
        login,
        `name: pay, match: { paths: [/pay], methods: [PUT] }, key: [ip, route], ${policy}`,
        free,
      );
      const routing = { overridesMethod: true, overridesPath: true };
      const { app, executions } = routedApp(['PUT /pay', 'POST /pay', 'POST /login', 'POST /free'], routing);
      stack.serve(app);
      await statusesOf(stack.ports.gateway, LIMIT + 1, { method: 'PUT', path: '/pay' });
      for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'x-method-override']) {
        await statusesOf(stack.ports.gateway, 2, { method: 'POST', path: '/pay', headers: { [name]: 'PUT' } });
      }
      for (const name of ['X-Original-URL', 'X-Rewrite-URL', 'X-Original-URI', 'X-Forwarded-Uri', 'x-original-url']) {
        await statusesOf(stack.ports.gateway, 2, { method: 'POST', path: '/free', headers: { [name]: '/login' } });
      }

      expect([executions.get('PUT /pay'), executions.get('POST /login')]).toEqual([LIMIT, 0]);
    });

    it.each<[string, NonNullable<Sent['headers']>]>([
      ['the target', { 'X-Original-URI': '/free', 'X-Forwarded-Uri': '/free', 'X-Original-URL': 'http://test/free' }],
      ['the method', { 'X-Original-Method': 'GET', 'X-Forwarded-Method': 'GET' }],
      ['all in other letters', { 'x-original-uri': '/free', 'X-FORWARDED-URI': '/free', 'x-original-METHOD': 'GET' }],
      ['the target, twice', { 'X-Original-URI': ['/free', '/health'], 'X-Forwarded-Uri': ['/login', '/free'] }],
      ['nothing', { 'X-Original-URI': '', 'X-Forwarded-Uri': '', 'X-Original-Method': '' }],
      ['what the connection drops', { Connection: 'X-Original-URI, X-Forwarded-Uri, X-Forwarded-For, keep-alive' }],
      ['another host', { 'X-Forwarded-Host': 'other', 'X-Forwarded-Port': '1', Forwarded: 'for=6.6.6.6' }],
    ])('is not chosen by fields that the client sends: %s', async (_what, headers) => {
      await stack.limit(`match: { paths: [/health] }, skip: true`, login, free);
      const { app, executions } = routedApp(['POST /login']);
      stack.serve(app);
      const statuses = await statusesOf(stack.ports.gateway, LIMIT + 2, { method: 'POST', path: '/login', headers });

      expect([statuses, executions.get('POST /login')]).toEqual([[200, 200, 200, 429, 429], LIMIT]);
    });

    it('holds for requests that arrive together, and for two readings of where one ends', async () => {
      await stack.limit(login, free);
      const { app, executions } = routedApp(['POST /login', 'GET /free']);
      stack.serve(app);
      const one = 'POST /login HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n';
      const pipelined = await exchangeBytes(stack.ports.gateway, one.repeat(6) + makeBytes('GET', '/free'));
      for (const fields of [
        'Content-Length: 4\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 4',
        'Transfer-Encoding: xchunked\r\nContent-Length: 0',
        'Transfer-Encoding : chunked\r\nContent-Length: 0',
        'Content-Length: 0\r\nContent-Length: 4',
        'Content-Length: +0',
      ]) {
        const first = `POST /login HTTP/1.1\r\nHost: test\r\n${fields}\r\n\r\n0\r\n\r\n`;
        await exchangeBytes(stack.ports.gateway, first + makeBytes('POST', '/login'));
      }

      expect(statusesIn(pipelined).slice(0, LIMIT)).toEqual([200, 200, 200]);
      expect(executions.get('POST /login')).toBe(LIMIT);
    });

    it('holds for fields of every length, also where the gateway would forward without the service', async () => {
      await stack.limit(login, free);
      const { app, executions } = routedApp(['POST /login']);
      stack.serve(app);
      await statusesOf(stack.ports.gateway, LIMIT, { method: 'POST', path: '/login' });
      for (const length of LENGTHS) {
        const long = `/login?${'q'.repeat(length)}`;
        const fields = `Origin: ${'o'.repeat(length)}\r\n`;
        const many = Array.from({ length: 40 }, (_, i) => `X-${String(i)}: ${'x'.repeat(length / 40)}\r\n`).join('');
        const all = [
          makeBytes('POST', long),
          makeBytes('POST', long, fields),
          ...[fields, many].map((one) => makeBytes('POST', '/login', one)),
        ];
        for (const bytes of all) await exchangeBytes(stack.ports.gateway, bytes);
      }

      expect(executions.get('POST /login')).toBe(LIMIT);
    });

    it('of an address is that of the connection, whatever fields the client sends (B6)', async () => {
      await stack.limit(byAddress);
      stack.serve((_asked, response) => response.end());
      const forged: Record<string, string | readonly string[]>[] = [
        ...NAMES.map((name, i) => ({ [name]: `203.0.113.${String(i)}` })),
        { Forwarded: 'for=203.0.113.50;proto=https' },
        { 'X-Forwarded-For': ['203.0.113.51', '203.0.113.52'] },
        { 'X-Forwarded-For': '203.0.113.53:4711, 127.0.0.1' },
        { 'X-Forwarded-For': '', 'X-Real-IP': '' },
      ];
      const statuses = [];
      for (const headers of forged) statuses.push((await send(stack.ports.gateway, { headers })).status);

      expect(statuses).toEqual(forged.map((_headers, i) => (i < LIMIT ? 200 : 429)));
      expect((await send(stack.ports.gateway, { from: '127.0.0.2' })).status).toBe(200);
    });
  });
}

/** Fields that some proxy or application takes for the address of a client. */
const NAMES = [
  ...['X-Forwarded-For', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP', 'X-Cluster-Client-IP'],
  ...['Fastly-Client-IP', 'X-Forwarded', 'Forwarded-For', 'Client-IP', 'Via', 'X-Original-For', 'x-real-ip'],
];

/** Around the sizes of buffers: those of the gateways and of the service. */
const LENGTHS = [
  ...[3_000, 4_060, 7_000, 7_900, 8_100, 8_192, 12_000, 14_500, 15_000, 15_200, 15_300, 15_360, 15_900, 16_000],
  ...[16_200, 16_384, 17_000, 20_000, 30_000, 32_000, 36_000, 60_000, 66_000, 140_000],
];
