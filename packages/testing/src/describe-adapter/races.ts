import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { expect } from 'expect';
import { fixedWindow, onDecision, when } from './described.ts';
import type { DrivenApp } from './driver.ts';
import { describe, it } from './scenario.ts';
import { exchange, open, received, statuses } from '../raw-http.ts';
import { send } from './http-client.ts';
import { PLACES, type Suite } from './suite.ts';

const policy = fixedWindow({ limit: 5, window: '1d' });
const ping = { method: 'GET', path: '/ping', handle: { body: 'pong' } } as const;
const isPing = when('x-ping', 'yes', true, false);
const get = (last: boolean): string =>
  `GET /items HTTP/1.1\r\nHost: test\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;

/**
 * Many requests at once, and clients that disconnect: exactly the limit is allowed, and counted requests stay counted.
 */
export function races(suite: Suite): void {
  describe.each(suite.stores.flatMap((stores) => PLACES.map((place) => ({ stores, kind: stores.kind, place }))))(
    'a limit $place, over $kind',
    ({ stores, place }) => {
      it('allows exactly 5 of 8 requests that are pipelined on one connection', async () => {
        const server = await suite.serve({ name: 'race', policy, ...stores.fresh() }, { place });

        const text = await exchange(server.port, get(false).repeat(7) + get(true));

        expect(statuses(text)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
        expect(await server.calls.count()).toBe(5);
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
        await send(server.port, { path: '/ping', headers: { 'X-Ping': 'yes' } });

        for (const socket of sockets) socket.write('\n');
        const outcomes = (await Promise.all(answers)).flatMap(statuses);

        expect(outcomes.filter((status) => status === 200)).toHaveLength(5);
        expect(outcomes.filter((status) => status === 429)).toHaveLength(195);
        expect(await server.calls.count()).toBe(5);
      });

      it('counts clients that disconnect before the response (B14)', async () => {
        const server = await suite.serve(
          { name: 'leave', policy, onDecision: onDecision(), ...stores.fresh() },
          { place, handle: { hold: 'handlers' } },
        );
        const sockets: Socket[] = [];
        for (let i = 0; i < 5; i++) {
          const socket = await open(server.port);
          socket.write(get(true));
          sockets.push(socket);
        }
        await server.decisions.reaches(5);
        for (const socket of sockets) socket.resetAndDestroy();

        const after = await server.statuses(2);
        await suite.driver.opens('handlers');

        expect(after).toEqual([429, 429]);
        expect(await server.calls.count()).toBe(5);
      });

      it('is not escaped by clients that disconnect at once (B14)', async () => {
        const server = await suite.serve({ name: 'leave', policy, ...stores.fresh() }, { place });
        for (let i = 0; i < 30; i++) {
          const socket = await open(server.port);
          socket.write(get(true));
          const closed = once(socket, 'close');
          if (i % 2 === 0) socket.resetAndDestroy();
          else socket.destroy();
          await closed;
        }

        await server.statuses(6);

        expect(await server.calls.count()).toBeLessThanOrEqual(5);
      });
    },
  );

  describe.each(suite.stores)('over HTTP/2 and $kind, a limit', (stores) => {
    const session = async ({ port }: DrivenApp): Promise<ClientHttp2Session> => {
      const client = connect(`http://127.0.0.1:${String(port)}`);
      client.on('error', () => {});
      suite.atEnd(async () => {
        if (client.closed) return;
        const closed = once(client, 'close');
        client.destroy();
        await closed;
      });
      await once(client, 'connect');
      return client;
    };
    const statusOf = async (stream: ClientHttp2Stream): Promise<number> => {
      const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    };

    it('allows exactly 5 of 30 streams that end in one packet (B13)', async () => {
      const limit = { name: 'h2', policy, ...stores.fresh() };
      const routes = [{ method: 'POST', path: '/items', limit, handle: { body: 'hello' } }] as const;
      const app = await suite.start({ routes }, { http2: true });
      const client = await session(app);
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
      expect(await app.calls.count()).toBe(5);
    });

    it('counts streams that are reset after the decision, and no stream that is reset at once escapes (B14)', async () => {
      const limit = { name: 'h2', policy, onDecision: onDecision(), ...stores.fresh() };
      const routes = [{ method: 'GET', path: '/items', limit, handle: { hold: 'handlers' } }] as const;
      const app = await suite.start({ routes }, { http2: true });
      const client = await session(app);
      const request = (): ClientHttp2Stream => {
        const stream = client.request({ ':path': '/items' });
        stream.on('error', () => {});
        return stream;
      };
      const counted = Array.from({ length: 5 }, request);
      await app.decisions.reaches(5);
      for (const stream of counted) stream.close(8);
      for (let i = 0; i < 50; i++) request().close(8);

      const status = await statusOf(request());
      await suite.driver.opens('handlers');

      expect(status).toBe(429);
      expect(await app.calls.count()).toBe(5);
    });
  });
}
