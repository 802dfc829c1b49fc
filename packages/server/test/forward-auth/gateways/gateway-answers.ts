import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { silenceWarnings } from '@sluice/core';
import { send, statusesOf } from './client.ts';
import { configurationFile, type GatewayTarget } from './gateway-target.ts';
import { useStack } from './stack.ts';

const limitOf = (units: number): string => `policy: { fixedWindow: { limit: ${String(units)}, window: 1h } }`;

/** Records what reaches the application. Answers with the status in the path `/status/503`, else 200. */
function recorder(): {
  readonly app: RequestListener;
  readonly calls: { method: string; url: string; body: string }[];
} {
  const calls: { method: string; url: string; body: string }[] = [];
  return {
    calls,
    app: (asked, response) => {
      void text(asked).then((body) => {
        const { method = '', url = '' } = asked;
        calls.push({ method, url, body });
        response.writeHead(Number(/^\/status\/(\d{3})/.exec(url)?.[1] ?? 200), { 'X-App': 'yes' });
        response.end(`${method} ${url} ${String(body.length)}`);
      });
    },
  };
}

/** What clients get. */
export function answers(target: GatewayTarget): void {
  describe('a request', () => {
    beforeAll(() => {
      silenceWarnings('SLUICE_PROXY_NOT_TRUSTED');
    });
    const stack = useStack(target);

    it('of a page is decided like every other, by the fields of its browser that the gateway copies', async () => {
      await stack.limit(`name: all, ${limitOf(1)}`);
      stack.serve(recorder().app);
      const headers = { Host: 'shop.example', Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' };

      expect((await send(stack.ports.gateway, { path: '/', headers })).status).toBe(200);
      expect((await send(stack.ports.gateway, { path: '/', headers })).status).toBe(429);
    });

    it('that is allowed reaches the application with its body, and its answer comes back with the fields', async () => {
      await stack.limit(`name: all, ${limitOf(5)}`);
      const { app, calls } = recorder();
      stack.serve(app);
      const body = 'x'.repeat(100_000);

      const plain = await send(stack.ports.gateway, { method: 'POST', path: '/orders?a=%2F', body });
      const chunked = await send(stack.ports.gateway, {
        ...{ method: 'PUT', path: '/orders/1', body },
        headers: { 'Transfer-Encoding': 'chunked' },
      });

      expect(plain.status).toBe(200);
      expect(plain.body).toBe('POST /orders?a=%2F 100000');
      expect(plain.headers['x-app']).toBe('yes');
      expect(plain.headers['ratelimit-policy']).toBe('"all";q=5;w=3600');
      expect(plain.headers['ratelimit']).toMatch(/^"all";r=4;t=\d+$/);
      expect(chunked.headers['ratelimit']).toMatch(/^"all";r=3;t=\d+$/);
      expect(calls).toEqual([
        { method: 'POST', url: '/orders?a=%2F', body },
        { method: 'PUT', url: '/orders/1', body },
      ]);
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
        expect(headers['ratelimit-policy']).toBe('"all";q=1;w=3600');
        expect(headers['ratelimit']).toMatch(/^"all";r=0;t=\d+$/);
        expect(Number(headers['retry-after'])).toBeGreaterThan(3000);
        expect(headers['cache-control']).toBe('no-store');
        expect(headers['content-type']).toBe('application/problem+json');
        expect(headers['x-app']).toBeUndefined();
      }
      expect(JSON.parse(answer.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Quota Exceeded',
        status: 429,
        ...(target.passesBody
          ? {
              detail: expect.stringMatching(/^The limit all is used up\. Try again in \d+ minutes\.$/),
              'violated-policies': ['all'],
            }
          : {}),
      });
      expect(head.body).toBe('');
      expect(calls).toHaveLength(1);
    });

    it('is limited by the limits of the example', async () => {
      await stack.configure(configurationFile('limits.yaml', stack.ports));
      stack.serve(recorder().app);
      const policyOf = async (method: string, path: string): Promise<string | undefined> =>
        (await send(stack.ports.gateway, { method, path })).headers['ratelimit-policy'];

      const logins = await statusesOf(stack.ports.gateway, 6, { method: 'POST', path: '/login' });

      expect(logins).toEqual([200, 200, 200, 200, 200, 429]);
      expect(await policyOf('POST', '/login')).toBe('"login";q=5;w=60');
      expect(await policyOf('GET', '/api/orders')).toBe('"api";q=20;w=2');
      expect(await policyOf('GET', '/')).toBe('"site";q=300;w=60');
      expect(await policyOf('GET', '/health')).toBeUndefined();
    });

    it.each([401, 403, 404, 418, 429, 500, 502, 503])('gets the %i of the application as it is', async (status) => {
      await stack.limit(`name: all, ${limitOf(1)}`);
      stack.serve(recorder().app);

      const answer = await send(stack.ports.gateway, { path: `/status/${String(status)}` });

      expect(answer.status).toBe(status);
      expect(answer.body).toBe(`GET /status/${String(status)} 0`);
      expect(answer.headers['ratelimit']).toMatch(/^"all";r=0;t=\d+$/);
    });

    it.each([
      ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE'].map((method) => [method, method]),
      ['HEAD', 'GET'],
    ] as [string, string][])(
      'is decided by its own method, path and rule: %s, of a rule for %s',
      async (method, ofRule) => {
        await stack.limit(
          `name: one, match: { paths: ['/items/*'], methods: [${ofRule}] }, key: [ip, route, method], ${limitOf(2)}`,
          `name: rest, ${limitOf(1)}`,
        );
        const { app, calls } = recorder();
        stack.serve(app);

        const items = await statusesOf(stack.ports.gateway, 3, { method, path: '/items/1' });
        const others = await statusesOf(stack.ports.gateway, 2, { method, path: '/other' });

        expect([...items, ...others]).toEqual([200, 200, 429, 200, 429]);
        expect(calls.map((call) => `${call.method} ${call.url}`)).toEqual([
          ...[`${method} /items/1`, `${method} /items/1`, `${method} /other`],
        ]);
      },
    );

    it('that a rule skips has no fields, not even those that the client sends', async () => {
      await stack.limit(`match: { paths: [/health] }, skip: true`, `name: rest, ${limitOf(1)}`);
      stack.serve(recorder().app);
      const headers = { RateLimit: '"forged";r=9', 'RateLimit-Policy': '"forged";q=9', 'Retry-After': '9' };

      const skipped = await send(stack.ports.gateway, { path: '/health', headers });
      const limited = await send(stack.ports.gateway, { headers });

      expect(skipped.status).toBe(200);
      expect(skipped.headers).not.toHaveProperty('ratelimit');
      expect(skipped.headers).not.toHaveProperty('ratelimit-policy');
      expect(limited.headers['ratelimit']).toMatch(/^"rest";r=0;t=\d+$/);
    });

    it('that is a CORS preflight has a budget of its own, and the answer of the application', async () => {
      await stack.limit(`name: all, ${limitOf(2)}`);
      stack.serve((_asked, response) => response.writeHead(204, { 'Access-Control-Allow-Origin': '*' }).end());
      const preflight = {
        method: 'OPTIONS',
        headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'PUT' },
      };
      const withCookie = { ...preflight, headers: { ...preflight.headers, Cookie: 'a=b' } };

      const first = await send(stack.ports.gateway, preflight);
      const preflights = await statusesOf(stack.ports.gateway, 2, preflight);
      const others = [
        ...(await statusesOf(stack.ports.gateway, 1, withCookie)),
        ...(await statusesOf(stack.ports.gateway, 1, { method: 'OPTIONS' })),
        ...(await statusesOf(stack.ports.gateway, 1)),
      ];

      expect(first.headers['access-control-allow-origin']).toBe('*');
      expect(first.headers).not.toHaveProperty('ratelimit');
      expect([first.status, ...preflights, ...others]).toEqual([204, 204, 429, 204, 204, 429]);
    });

    it('for a WebSocket is upgraded when it is allowed, and gets 429 when it is denied', async () => {
      await stack.limit(`name: all, ${limitOf(1)}`);
      let upgrades = 0;
      stack.app.on('upgrade', (_asked: IncomingMessage, socket: Socket) => {
        upgrades++;
        socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello',
        );
      });
      const upgrade = {
        ...{ Connection: 'Upgrade', Upgrade: 'websocket' },
        ...{ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version': '13' },
      };
      const sent = request({ host: '127.0.0.1', port: stack.ports.gateway, agent: false, headers: upgrade });
      sent.end();

      const [answer, socket, head] = (await once(sent, 'upgrade')) as [IncomingMessage, Socket, Buffer];
      socket.unshift(head);
      const received = await text(socket);
      const denied = await send(stack.ports.gateway, { headers: upgrade });

      expect(answer.statusCode).toBe(101);
      expect(received).toBe('hello');
      expect(denied.status).toBe(429);
      expect(denied.headers['ratelimit']).toMatch(/^"all";r=0;t=\d+$/);
      expect(upgrades).toBe(1);
    });

    it('costs no connection to the service', async () => {
      await stack.limit(`name: all, ${limitOf(1000)}`);
      stack.serve(recorder().app);
      const sockets = new Set<Socket>();
      const record = (message: unknown): void => {
        const { socket } = message as { socket: Socket };
        if (socket.localPort === stack.ports.service) sockets.add(socket);
      };
      subscribe('http.server.request.start', record);

      const statuses = await statusesOf(stack.ports.gateway, 100);
      unsubscribe('http.server.request.start', record);

      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(sockets.size).toBeGreaterThan(0);
      expect(sockets.size).toBeLessThan(10);
    });

    it('is denied where the service does not trust the gateway, or answers what is no permission', async () => {
      const { app, calls } = recorder();
      stack.serve(app);
      await stack.configure(`forward_auth: { trusted_proxies: [10.0.0.1], rules: [{ name: all, ${limitOf(1)} }] }`);
      const notTrusted = await send(stack.ports.gateway);
      await stack.configure('domain: edge');
      const notConfigured = await send(stack.ports.gateway);

      expect(notTrusted.status).toBe(403);
      expect(notConfigured.status).toBeGreaterThanOrEqual(400);
      expect(calls).toHaveLength(0);
    });
  });
}
