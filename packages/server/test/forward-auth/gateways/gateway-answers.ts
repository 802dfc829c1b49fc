import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { silenceWarnings } from '@sluice/core';
import { until } from '@sluice/testkit';
import { send } from '../../send.ts';
import { statusesOf } from './client.ts';
import { configurationFile, type GatewayTarget } from './gateway-target.ts';
import { useStack } from './stack.ts';

const limitOf = (units: number): string => `policy: { fixedWindow: { limit: ${String(units)}, window: 1h } }`;
/** Many times what the gateways wait, which is about a second. */
const BOUND_MS = 30_000;

/** Records what reaches the application. Answers with the status in the path `/status/503`, else 200. */
function recorder(): { readonly app: RequestListener; readonly calls: string[] } {
  const calls: string[] = [];
  const app: RequestListener = (asked, response) => {
    void text(asked).then((body) => {
      const { method = '', url = '' } = asked;
      calls.push(`${method} ${url} ${String(body.length)}`);
      response.writeHead(Number(/^\/status\/(\d{3})/.exec(url)?.[1] ?? 200), { 'X-App': 'yes' });
      response.end(calls.at(-1));
    });
  };
  return { app, calls };
}

/** What clients get. */
export function answers(target: GatewayTarget): void {
  describe('a request', () => {
    beforeAll(() => {
      silenceWarnings('SLUICE_PROXY_NOT_TRUSTED');
    });
    const stack = useStack(target);

    it('that is allowed reaches the application with its body, and its answer comes back with the fields', async () => {
      await stack.limit(`name: all, ${limitOf(5)}`);
      const { app, calls } = recorder();
      stack.serve(app);
      const body = 'x'.repeat(100_000);
      const plain = await send(stack.ports.gateway, { method: 'POST', path: '/orders?a=%2F', body });
      const chunked = { method: 'PUT', path: '/orders/1', body, headers: { 'Transfer-Encoding': 'chunked' } };
      const second = await send(stack.ports.gateway, chunked);

      expect(plain).toMatchObject({ status: 200, body: 'POST /orders?a=%2F 100000' });
      expect(plain.headers).toMatchObject({ 'x-app': 'yes', 'ratelimit-policy': '"all";q=5;w=3600' });
      expect(second.headers['ratelimit']).toMatch(/^"all";r=3;t=\d+$/);
      expect(calls).toEqual(['POST /orders?a=%2F 100000', 'PUT /orders/1 100000']);
    });

    it('that is denied gets 429 with the fields, the wait and a problem, and does not reach the application', async () => {
      await stack.limit(`name: all, ${limitOf(1)}`);
      const { app, calls } = recorder();
      stack.serve(app);
      await send(stack.ports.gateway);
      const answer = await send(stack.ports.gateway, { method: 'POST', body: 'x'.repeat(100_000) });
      const head = await send(stack.ports.gateway, { method: 'HEAD' });

      for (const { status, headers } of [answer, head]) {
        expect(status).toBe(429);
        expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/problem+json' });
        expect(headers['ratelimit']).toMatch(/^"all";r=0;t=\d+$/);
        expect(Number(headers['retry-after'])).toBeGreaterThan(3000);
      }
      expect(JSON.parse(answer.body)).toMatchObject({
        ...{ title: 'Quota Exceeded', status: 429 },
        ...(target.passesBody ? { 'violated-policies': ['all'] } : {}),
      });
      expect([head.body, calls.length]).toEqual(['', 1]);
    });

    it('is limited by the limits of the example', async () => {
      await stack.configure(configurationFile('limits.yaml', stack.ports));
      stack.serve(recorder().app);
      const logins = await statusesOf(stack.ports.gateway, 6, { method: 'POST', path: '/login' });
      const paths = ['/api/orders', '/', '/health'];
      const found = await Promise.all(paths.map(async (path) => send(stack.ports.gateway, { path })));

      expect(logins).toEqual([200, 200, 200, 200, 200, 429]);
      expect(found.map(({ headers }) => headers['ratelimit-policy'])).toEqual([
        ...['"api";q=20;w=2', '"site";q=300;w=60'],
        undefined,
      ]);
    });

    it.each(['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE', 'HEAD'])(
      'is decided by its own method, path and rule: %s',
      async (method) => {
        const ofRule = method === 'HEAD' ? 'GET' : method;
        const one = `name: one, match: { paths: ['/items/*'], methods: [${ofRule}] }, key: [ip, route, method]`;
        await stack.limit(`${one}, ${limitOf(2)}`, `name: rest, ${limitOf(1)}`);
        stack.serve(recorder().app);
        const items = await statusesOf(stack.ports.gateway, 3, { method, path: '/items/1' });
        const others = await statusesOf(stack.ports.gateway, 2, { method, path: '/other' });

        expect([...items, ...others]).toEqual([200, 200, 429, 200, 429]);
      },
    );

    it('that a rule skips has no fields, not even those that the client sends', async () => {
      await stack.limit(`match: { paths: [/health] }, skip: true`, `name: rest, ${limitOf(1)}`);
      stack.serve(recorder().app);
      const headers = { RateLimit: '"forged";r=9', 'RateLimit-Policy': '"forged";q=9' };
      const skipped = await send(stack.ports.gateway, { path: '/health', headers });
      const limited = await send(stack.ports.gateway, { headers });

      expect(skipped.headers).not.toHaveProperty('ratelimit');
      expect(limited.headers['ratelimit']).toMatch(/^"rest";r=0;t=\d+$/);
    });

    it('is denied if the service does not trust the gateway, or answers what is no permission', async () => {
      const { app, calls } = recorder();
      stack.serve(app);
      await stack.configure(`forward_auth: { trusted_proxies: [10.0.0.1], rules: [{ name: all, ${limitOf(1)} }] }`);
      const notTrusted = await send(stack.ports.gateway);
      await stack.configure('domain: edge');
      const notConfigured = await send(stack.ports.gateway);

      expect([notTrusted.status, notConfigured.status >= 400, calls]).toEqual([403, true, []]);
    });
  });
}

/** What a gateway does without an answer from the service. */
export function failures(target: GatewayTarget): void {
  describe.each([
    ['open', false],
    ['closed', true],
  ])('a gateway that fails %s', (_how, failsClosed) => {
    const stack = useStack(target, { failsClosed });
    let calls = 0;
    let away: Server | undefined;
    beforeEach(() => {
      calls = 0;
      stack.serve((asked, response) => {
        calls++;
        asked.resume().on('end', () => response.end('done'));
      });
    });
    const end = async (): Promise<void> => {
      if (away?.listening !== true) return;
      away.close();
      await once(away, 'close');
    };
    afterEach(end);
    const listen = async (behave: (socket: Socket) => unknown): Promise<void> => {
      away = createServer((socket) => {
        socket.on('error', () => {});
        behave(socket);
      }).listen(stack.ports.service, '127.0.0.1');
      await once(away, 'listening');
    };

    it.each<[string, (socket: Socket) => unknown]>([
      ['accepts and says nothing', (socket) => setTimeout(() => socket.destroy(), BOUND_MS).unref()],
      ['ends every connection', (socket) => socket.end()],
      ['resets every connection', (socket) => socket.resetAndDestroy()],
    ])('answers in time while the service %s', async (_what, behave) => {
      const sockets: Socket[] = [];
      await listen((socket) => {
        sockets.push(socket);
        behave(socket);
      });
      const startedAt = performance.now();
      const answered = await Promise.all([
        send(stack.ports.gateway),
        send(stack.ports.gateway, { method: 'POST', body: 'x'.repeat(10_000) }),
        send(stack.ports.gateway, { method: 'HEAD' }),
      ]);
      for (const socket of sockets) socket.destroy();

      expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
      for (const { status, headers } of answered) {
        expect(failsClosed ? status >= 502 : status === 200).toBe(true);
        expect(headers).not.toHaveProperty('ratelimit');
      }
      expect(calls).toBe(failsClosed ? 0 : 3);
    });

    it('answers while the service is down, and limits again once it is back', async () => {
      const one = `name: all, ${limitOf(1)}`;
      const expected = failsClosed ? target.statusClosed : 200;
      await stack.limit(one);
      const before = await statusesOf(stack.ports.gateway, 2);
      await stack.stopService();
      const meanwhile = await statusesOf(stack.ports.gateway, 3, { method: 'POST', body: 'x'.repeat(10_000) });
      await stack.limit(one);
      await until('the gateway limits again', async () => (await send(stack.ports.gateway)).status === 429);

      expect([before, meanwhile]).toEqual([[200, 429], Array(3).fill(expected)]);
    });

    it('does not forward what the service denies, whatever its status', async () => {
      for (const status of [400, 401, 403, 404, 418, 429, 431, 500, 503]) {
        const answer = `HTTP/1.1 ${String(status)} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
        await listen((socket) => socket.once('data', () => socket.end(answer)));
        const found = await send(stack.ports.gateway);
        await end();
        expect(found.status).toBeGreaterThanOrEqual(300);
        if (status === 429 || status === 503) expect(found.status).toBe(status);
      }
      expect(calls).toBe(0);
    });
  });
}
