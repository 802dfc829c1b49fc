import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'expect';
import { fixedWindow, held, later, onDecision, ownMemory, recorded, when } from './described.ts';
import { describe, it } from './scenario.ts';
import { open } from '../raw-http.ts';
import { send } from './http-client.ts';
import { idOf, PLACES, type Suite } from './suite.ts';

const GET = 'GET /items HTTP/1.1\r\nHost: test\r\n\r\n';
const oncePerHour = fixedWindow({ limit: 1, window: '1h' });
const ping = { method: 'GET', path: '/ping', handle: { body: 'pong' } } as const;
const skip = when('x-ping', 'yes', true, false);

/** Clients that disconnect before the decision. An unhandled rejection fails the test. */
export function aborts(suite: Suite): void {
  describe.each(PLACES)('a limit %s', (place) => {
    const leave = async (port: number, left: Socket): Promise<void> => {
      const closed = once(left, 'close');
      left.resetAndDestroy();
      await closed;
      // When another connection has its answer, the server has noticed this disconnect.
      for (let i = 0; i < 3; i++) await send(port, { path: '/ping', headers: { 'X-Ping': 'yes' } });
    };

    it.each([
      ['allowed', 1],
      ['denied', 2],
    ])('continues when the client disconnects during the store call: %s', async (_outcome, cost) => {
      const decided = ownMemory({ hold: 'answers', asRedis: true }); // decides at once, and answers when the gate opens
      const server = await suite.serve(
        { name: 'abort', policy: oncePerHour, cost, skip, store: decided, timeoutMs: 60_000 },
        { place, more: [ping] },
      );
      const socket = await open(server.port);
      socket.write(GET);
      await suite.driver.list(idOf(decided), 'consume').reaches(1);
      await leave(server.port, socket);

      await suite.driver.opens('answers');
      const statuses = await server.statuses(1);

      expect(statuses).toEqual([429]);
      expect(await server.calls.count()).toBeLessThanOrEqual(1);
    });

    it('still has the address of a client that disconnects during skip', async () => {
      const server = await suite.serve(
        {
          name: 'abort',
          policy: oncePerHour,
          skip: when('x-ping', 'yes', later(true), recorded('begun', held('skip', false))),
          onDecision: onDecision(),
        },
        { place, more: [ping] },
      );
      const socket = await open(server.port);
      socket.write(GET);
      await server.list('begun').reaches(1);
      await leave(server.port, socket);

      await suite.driver.opens('skip');
      await server.decisions.reaches(1);

      expect((await server.decisions.all()).map(({ key }) => key)).toEqual(['127.0.0.1']);
      expect(await server.statuses(1)).toEqual([429]);
    });
  });
}
