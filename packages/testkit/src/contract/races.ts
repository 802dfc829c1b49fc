import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { expect } from '@jest/globals';
import { fixedWindow, type Decision } from '@sluice/old-core';
import { exchange, open, received, statuses } from '../raw-http.ts';
import { begin, http2Session, isPing, ping, pings, statusOf } from './connections.ts';
import { gate } from './gate.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';

const policy = fixedWindow({ limit: 5, window: '1d' });
const get = (last: boolean): string =>
  `GET /items HTTP/1.1\r\nHost: test\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;

/**
 * Many requests at once, and clients that disconnect: exactly the limit is allowed, and counted requests stay counted.
 */
export function races(suite: Suite): void {
  describe.each(suite.everywhere)('a limit $place, over $kind', ({ stores, place }) => {
    it('allows exactly 5 of 8 requests that are pipelined on one connection', async () => {
      const server = await suite.serve({ name: 'race', policy, ...stores.fresh() }, { place });

      const text = await exchange(server.port, get(false).repeat(7) + get(true));

      expect(statuses(text)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
      expect(server.calls.count).toBe(5);
    });

    it('allows exactly 5 of 200 connections whose last bytes arrive together (B13)', async () => {
      const server = await suite.serve(
        { name: 'race', policy, skip: isPing, ...stores.fresh() },
        { place, more: [ping] },
      );
      const sockets: Socket[] = [];
      for (let i = 0; i < 200; i++) sockets.push(await open(server.port));
      const answers = sockets.map(received);
      for (const socket of sockets) socket.write(get(true).slice(0, -1));
      // Connections are accepted in order: when a later one has its response, all of them wait for their last byte.
      await pings(server, 1);

      for (const socket of sockets) socket.write('\n');
      const outcomes = (await Promise.all(answers)).flatMap(statuses);

      expect(outcomes.filter((status) => status === 200)).toHaveLength(5);
      expect(outcomes.filter((status) => status === 429)).toHaveLength(195);
      expect(server.calls.count).toBe(5);
    });

    it('counts clients that disconnect before the response (B14)', async () => {
      const [decisions, handlers] = [new Log<Decision>(), gate()];
      const server = await suite.serve(
        { name: 'leave', policy, onDecision: decisions.add, ...stores.fresh() },
        { place, handle: () => handlers.opened.then(() => ({})) },
      );
      const sockets: Socket[] = [];
      for (let i = 0; i < 5; i++) sockets.push(await begin(server.port, get(true)));
      await decisions.reaches(5);
      for (const socket of sockets) socket.resetAndDestroy();

      const after = await server.statuses(2);
      handlers.open();

      expect(after).toEqual([429, 429]);
      expect(server.calls.count).toBe(5);
    });

    it('is not escaped by clients that disconnect at once (B14)', async () => {
      const server = await suite.serve({ name: 'leave', policy, ...stores.fresh() }, { place });
      for (let i = 0; i < 30; i++) {
        const socket = await begin(server.port, get(true));
        const closed = once(socket, 'close');
        if (i % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
        await closed;
      }

      await server.statuses(6);

      expect(server.calls.count).toBeLessThanOrEqual(5);
    });
  });

  describe.each(suite.stores)('over HTTP/2 and $kind, a limit', (stores) => {
    it('allows exactly 5 of 30 streams that end in one packet (B13)', async () => {
      const app = await suite.serve({ name: 'h2', policy, ...stores.fresh() }, { method: 'POST', http2: true });
      const client = await http2Session(suite, app.port);
      const streams = Array.from({ length: 30 }, () => {
        const stream = client.request({ ':method': 'POST', ':path': '/items', 'content-type': 'application/json' });
        stream.on('error', () => {}); // denied before its body was complete
        return stream;
      });
      const outcomes = streams.map(statusOf);

      for (const stream of streams) stream.end('{}');
      const answered = await Promise.all(outcomes);

      expect(answered.filter((status) => status === 200)).toHaveLength(5);
      expect(answered.filter((status) => status === 429)).toHaveLength(25);
      expect(app.calls.count).toBe(5);
    });

    it('counts streams that are reset after the decision, and no stream that is reset at once escapes (B14)', async () => {
      const [decisions, handlers] = [new Log<Decision>(), gate()];
      const app = await suite.serve(
        { name: 'h2', policy, onDecision: decisions.add, ...stores.fresh() },
        { http2: true, handle: () => handlers.opened.then(() => ({})) },
      );
      const client = await http2Session(suite, app.port);
      const request = (): ClientHttp2Stream => {
        const stream = client.request({ ':path': '/items' });
        stream.on('error', () => {});
        return stream;
      };
      const counted = Array.from({ length: 5 }, request);
      await decisions.reaches(5);
      for (const stream of counted) stream.close(8);
      for (let i = 0; i < 50; i++) request().close(8);

      const status = await statusOf(request());
      handlers.open();

      expect(status).toBe(429);
      expect(app.calls.count).toBe(5);
    });
  });
}
