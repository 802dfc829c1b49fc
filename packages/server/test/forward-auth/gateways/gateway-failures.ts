import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { send, statusesOf } from './client.ts';
import type { GatewayTarget } from './gateway-target.ts';
import { useStack } from './stack.ts';

const one = 'name: all, policy: { fixedWindow: { limit: 1, window: 1h } }';
/** Many times what the gateways wait, which is about a second. */
const BOUND_MS = 10_000;

/** What a gateway does without an answer from the service. */
export function failures(target: GatewayTarget): void {
  describe.each([
    ['open', false],
    ['closed', true],
  ])('a gateway that fails %s', (_how, failsClosed) => {
    const stack = useStack(target, { failsClosed });
    let calls = 0;
    let hung: Server | undefined;
    const expected = failsClosed ? target.statusClosed : 200;

    beforeEach(() => {
      calls = 0;
      stack.serve((asked, response) => {
        calls++;
        asked.resume().on('end', () => response.end('done'));
      });
    });
    afterEach(async () => {
      if (hung === undefined) return;
      hung.close();
      await once(hung, 'close');
      hung = undefined;
    });

    it.each<[string, (server: Server) => void]>([
      ['accepts and says nothing', (server) => server.on('connection', (socket) => socket.on('error', () => {}))],
      ['ends every connection', (server) => server.on('connection', (socket) => socket.end())],
      ['resets every connection', (server) => server.on('connection', (socket) => socket.resetAndDestroy())],
    ])('answers in time while the service %s', async (_what, behave) => {
      hung = createServer();
      const sockets = new Set<{ destroy(): unknown }>();
      hung.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
      behave(hung);
      hung.listen(stack.ports.service, '127.0.0.1');
      await once(hung, 'listening');
      const startedAt = performance.now();

      const answers = await Promise.all([
        send(stack.ports.gateway),
        send(stack.ports.gateway, { method: 'POST', body: 'x'.repeat(10_000) }),
        send(stack.ports.gateway, { method: 'HEAD' }),
      ]);
      for (const socket of sockets) socket.destroy();

      expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
      for (const { status, headers } of answers) {
        if (failsClosed) expect(status).toBeGreaterThanOrEqual(502);
        else expect(status).toBe(200);
        expect(headers).not.toHaveProperty('ratelimit');
      }
      expect(calls).toBe(failsClosed ? 0 : 3);
    });

    it('answers in time while the service is down, and limits again once it is back', async () => {
      await stack.limit(one);
      const before = await statusesOf(stack.ports.gateway, 2);
      await stack.stopService();
      const startedAt = performance.now();

      const meanwhile = await statusesOf(stack.ports.gateway, 3, { method: 'POST', body: 'x'.repeat(10_000) });
      const tookMs = performance.now() - startedAt;
      await stack.limit(one);
      const after = await until('the gateway limits again', async () => {
        const { status } = await send(stack.ports.gateway);
        return status === 429;
      });

      expect(before).toEqual([200, 429]);
      expect(meanwhile).toEqual([expected, expected, expected]);
      expect(tookMs).toBeLessThan(BOUND_MS);
      expect(after).toBe(true);
    });

    it('does not forward what the service denies, whatever its status', async () => {
      const statuses = [];
      for (const status of [301, 400, 401, 403, 404, 429, 431, 500, 503]) {
        const answer = `HTTP/1.1 ${String(status)} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
        const server = createServer((socket) => {
          socket.on('error', () => {});
          socket.once('data', () => socket.end(answer));
        });
        server.listen(stack.ports.service, '127.0.0.1');
        await once(server, 'listening');
        statuses.push((await send(stack.ports.gateway)).status);
        server.close();
        await once(server, 'close');
      }

      expect(calls).toBe(0);
      expect(statuses.filter((status) => status < 300)).toEqual([]);
      expect(statuses[5]).toBe(429);
      expect(statuses[8]).toBe(503);
    });
  });

  describe('a restart of the service', () => {
    const stack = useStack(target, { isPatient: true });

    it('is an error for no client of a gateway that fails open', async () => {
      const rule = 'name: all, policy: { fixedWindow: { limit: 1000000, window: 1h } }';
      await stack.limit(rule);
      stack.serve((_asked, response) => response.end());
      let hasEnded = false;
      const statuses: number[] = [];
      const ask = async (): Promise<void> => {
        while (!hasEnded) statuses.push((await send(stack.ports.gateway)).status);
      };

      const asking = Promise.all([ask(), ask(), ask(), ask()]);
      for (let i = 0; i < 5; i++) {
        const before = statuses.length;
        await until('requests are answered', () => statuses.length > before + 20);
        await stack.limit(rule);
      }
      hasEnded = true;
      await asking;

      expect(new Set(statuses)).toEqual(new Set([200]));
    });
  });
}
