import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cases, spellingsOf, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { PIECES } from '../upstream-models.ts';
import { exchangeBytes, send, statusesIn, statusesOf, type Sent } from './client.ts';
import type { GatewayTarget } from './gateway-target.ts';
import { routedApp, tolerantApp } from './spelt-application.ts';
import { useStack } from './stack.ts';

const LIMIT = 3;
const policy = `policy: { fixedWindow: { limit: ${String(LIMIT)}, window: 1h } }`;
const login = `name: login, match: { paths: [/login], methods: [POST] }, key: [ip, route], ${policy}`;
const free = `name: free, policy: { fixedWindow: { limit: 1000000, window: 1h } }`;

/** The bytes of a request with this target. */
function bytesOf(method: string, target: string, fields = ''): string {
  const length = method === 'GET' ? '' : 'Content-Length: 0\r\n';
  return `${method} ${target} HTTP/1.1\r\nHost: test\r\n${length}${fields}Connection: close\r\n\r\n`;
}

/** No spelling of a request gets more than the limit of the route that the application executes. */
export function spellings(target: GatewayTarget): void {
  describe('a limit of a route', () => {
    const stack = useStack(target);

    it.each([
      ['POST', '/login', '/login', login],
      ['GET', '/users/:id', '/users/1', `name: users, match: { paths: ['/users/*'] }, key: [ip, route], ${policy}`],
    ])('lets no spelling of %s %s exceed it (B1)', async (method, route, plain, rule) => {
      await stack.limit(rule, free);
      const { app, executions } = routedApp([`${method} ${route}`]);
      stack.serve(app);
      const spelt = spellingsOf(plain);

      for (const one of [...spelt, ...spelt]) await exchangeBytes(stack.ports.gateway, bytesOf(method, one));
      const afterwards = await statusesOf(stack.ports.gateway, 1, { method, path: plain });

      expect(executions.get(`${method} ${route}`)).toBe(LIMIT);
      expect(afterwards).toEqual([429]);
    });

    it('lets no path through a rule that skips exceed it', async () => {
      await stack.limit(`match: { paths: ['/static/*', /health] }, skip: true`, login);
      const { app, executions } = routedApp(['POST /login'], { normalizesPath: true });
      stack.serve(app);
      const ways = ['..', '%2e%2e', '.%2E', '%252e%252e', '..;', '..%2f', '..%5c', '..\\'].flatMap((up) => [
        ...[`/static/${up}/login`, `/static/x/${up}/${up}/login`, `//static/${up}/login`, `/STATIC/${up}/LOGIN`],
        ...[`/health/${up}/login`, `/static/${up}//login/`, `http://test/static/${up}/login`],
      ]);

      for (const one of [...ways, ...ways]) await exchangeBytes(stack.ports.gateway, bytesOf('POST', one));
      const plain = await statusesOf(stack.ports.gateway, LIMIT + 1, { method: 'POST', path: '/login' });

      expect(plain.at(-1)).toBe(429);
      expect(executions.get('POST /login')).toBe(LIMIT);
    });

    it.each([
      ['Express', false],
      ['an application that normalizes paths', true],
    ])('lets no target made of what servers read in several ways exceed it: %s', async (_what, normalizesPath) => {
      await stack.limit(`match: { paths: ['/static/*'] }, skip: true`, login, free);
      const { app, executions } = routedApp(['POST /login'], { normalizesPath });
      stack.serve(app);

      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 }), async (pieces) => {
          await exchangeBytes(stack.ports.gateway, bytesOf('POST', `/${pieces.join('')}`));

          return (executions.get('POST /login') ?? 0) <= LIMIT;
        }),
        { numRuns: cases(200), seed: testSeed(19) },
      );
    });

    it('has one budget for all ids in a path, and for HEAD and GET (B3)', async () => {
      await stack.limit(`name: users, match: { paths: ['/users/*'] }, key: [ip, route, method], ${policy}`);
      const { app, executions } = routedApp(['GET /users/:id']);
      stack.serve(app);
      const asked: readonly [string, string][] = [
        ...([
          ['GET', '/users/1'],
          ['HEAD', '/users/ann'],
          ['GET', '/users/%41nn'],
        ] as [string, string][]),
        ...([
          ['HEAD', '/users/x-y'],
          ['GET', '/users/2'],
        ] as [string, string][]),
      ];

      const statuses = [];
      for (const [method, path] of asked) statuses.push((await send(stack.ports.gateway, { method, path })).status);

      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      expect(executions.get('GET /users/:id')).toBe(3);
    });

    it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
      'is not escaped with %s by an application that follows it (B2)',
      async (name) => {
        await stack.limit(`name: pay, match: { paths: [/pay], methods: [PUT] }, key: [ip, route], ${policy}`, free);
        const { app, executions } = routedApp(['PUT /pay', 'POST /pay'], { overridesMethod: true });
        stack.serve(app);
        const headers = { [name]: 'PUT' };

        await statusesOf(stack.ports.gateway, LIMIT + 1, { method: 'PUT', path: '/pay' });
        await statusesOf(stack.ports.gateway, 2, { method: 'POST', path: '/pay', headers });
        await statusesOf(stack.ports.gateway, 2, {
          method: 'POST',
          path: '/pay',
          headers: { [name.toLowerCase()]: 'PUT' },
        });

        expect(executions.get('PUT /pay')).toBe(LIMIT);
      },
    );

    it.each(['X-Original-URL', 'X-Rewrite-URL', 'X-Original-URI', 'X-Forwarded-Uri', 'x-original-url'])(
      'is not escaped with %s by an application that follows it',
      async (name) => {
        await stack.limit(login, free);
        const { app, executions } = routedApp(['POST /login', 'POST /free'], { overridesPath: true });
        stack.serve(app);
        const headers = { [name]: '/login' };

        await statusesOf(stack.ports.gateway, LIMIT + 2, { method: 'POST', path: '/free', headers });

        expect(executions.get('POST /login')).toBe(0);
      },
    );

    it.each<[string, NonNullable<Sent['headers']>]>([
      ['the target', { 'X-Original-URI': '/free', 'X-Forwarded-Uri': '/free', 'X-Original-URL': 'http://test/free' }],
      ['the method', { 'X-Original-Method': 'GET', 'X-Forwarded-Method': 'GET' }],
      ['all in other letters', { 'x-original-uri': '/free', 'X-FORWARDED-URI': '/free', 'x-original-METHOD': 'GET' }],
      ['the target, twice', { 'X-Original-URI': ['/free', '/health'], 'X-Forwarded-Uri': ['/login', '/free'] }],
      ['nothing', { 'X-Original-URI': '', 'X-Forwarded-Uri': '', 'X-Original-Method': '' }],
      [
        'what the connection drops',
        { Connection: 'X-Original-URI, X-Forwarded-Uri, X-Forwarded-For, X-Original-Method, keep-alive' },
      ],
      [
        'another host',
        {
          'X-Forwarded-Host': 'other',
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Port': '1',
          Forwarded: 'for=6.6.6.6',
        },
      ],
    ])('is not chosen by fields that the client sends: %s', async (_what, headers) => {
      await stack.limit(`match: { paths: [/health] }, skip: true`, login, free);
      const { app, executions } = routedApp(['POST /login']);
      stack.serve(app);

      const statuses = await statusesOf(stack.ports.gateway, LIMIT + 2, { method: 'POST', path: '/login', headers });

      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      expect(executions.get('POST /login')).toBe(LIMIT);
    });

    it('holds for requests that arrive together, and for two readings of where one ends', async () => {
      await stack.limit(login, free);
      const { app, executions } = routedApp(['POST /login', 'GET /free']);
      stack.serve(app);
      const one = 'POST /login HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n';
      const both = (fields: string, body: string): string =>
        `POST /login HTTP/1.1\r\nHost: test\r\n${fields}\r\n\r\n${body}${bytesOf('POST', '/login')}`;

      const pipelined = await exchangeBytes(stack.ports.gateway, one.repeat(6) + bytesOf('GET', '/free'));
      for (const fields of [
        'Content-Length: 4\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 4',
        'Transfer-Encoding: xchunked\r\nContent-Length: 0',
        'Transfer-Encoding : chunked\r\nContent-Length: 0',
        'Content-Length: 0\r\nContent-Length: 4',
        'Content-Length: +0',
      ]) {
        await exchangeBytes(stack.ports.gateway, both(fields, '0\r\n\r\n'));
      }

      expect(statusesIn(pipelined).slice(0, LIMIT)).toEqual([200, 200, 200]);
      expect(statusesIn(pipelined).filter((status) => status === 200).length).toBeLessThanOrEqual(LIMIT + 1);
      expect(executions.get('POST /login')).toBe(LIMIT);
    });

    it('holds for fields of every length, also where the gateway would forward without the service', async () => {
      await stack.limit(login, free);
      const { app, executions } = routedApp(['POST /login']);
      stack.serve(app);
      await statusesOf(stack.ports.gateway, LIMIT, { method: 'POST', path: '/login' });

      for (const length of LENGTHS) {
        const fields = `Origin: ${'o'.repeat(length)}\r\n`;
        await exchangeBytes(stack.ports.gateway, bytesOf('POST', `/login?${'q'.repeat(length)}`));
        await exchangeBytes(stack.ports.gateway, bytesOf('POST', '/login', fields));
        await exchangeBytes(stack.ports.gateway, bytesOf('POST', `/login?${'q'.repeat(length)}`, fields));
        await exchangeBytes(
          stack.ports.gateway,
          bytesOf(
            'POST',
            '/login',
            Array.from({ length: 40 }, (_, i) => `X-${String(i)}: ${'x'.repeat(length / 40)}\r\n`).join(''),
          ),
        );
      }

      expect(executions.get('POST /login')).toBe(LIMIT);
    });
  });

  describe('a limit of a method', () => {
    const { server, methods } = tolerantApp();
    let port = 0;
    beforeAll(async () => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
    });
    afterAll(() => {
      server.close();
    });
    const stack = useStack(target, { isPatient: true }, () => port);

    it('lets no spelling of it exceed it', async () => {
      await stack.limit(`name: write, match: { methods: [POST] }, ${policy}`);

      for (const method of ['post', 'Post', 'pOST', 'POST', ' POST', 'POST ', 'POST\t', 'PÖST', 'POST']) {
        await exchangeBytes(stack.ports.gateway, bytesOf(method, '/'));
        await exchangeBytes(stack.ports.gateway, bytesOf(method, '/'));
      }

      expect(methods.filter((method) => method === 'POST')).toHaveLength(LIMIT);
    });
  });
}

/** Around the sizes of buffers: those of the gateways and of the service. */
const LENGTHS = [
  3_000, 4_060, 7_000, 7_900, 8_100, 8_192, 12_000, 14_500, 15_000, 15_200, 15_300, 15_360, 15_900,
].concat(...[16_000, 16_200, 16_384, 17_000, 20_000, 30_000, 32_000, 36_000, 60_000, 66_000, 140_000]);
