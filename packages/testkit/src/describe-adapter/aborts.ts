import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, type Store } from '@sluice/core';
import { open } from '../raw-http.ts';
import { gate, tally, type Tally } from './gate.ts';
import { send } from './http-client.ts';
import { PLACES, type Suite } from './suite.ts';
import type { AnyRequest } from './target.ts';

const GET = 'GET /items HTTP/1.1\r\nHost: test\r\n\r\n';
const oncePerHour = fixedWindow({ limit: 1, window: '1h' });
const ping = { method: 'GET', path: '/ping', handle: () => ({ body: 'pong' }) } as const;
const skip = ({ headers }: AnyRequest): boolean => headers['x-ping'] === 'yes';

/** A store that decides at once, and returns the answer when the test allows it. */
function heldStore(): { readonly store: Store; readonly asked: Tally; readonly answer: () => void } {
  const inner = memoryStore();
  const asked = tally();
  const held = gate();
  return {
    asked,
    answer: () => {
      held.open();
    },
    store: {
      source: 'redis',
      async perform(requests) {
        const answers = inner.perform(requests);
        asked.add();
        await held.opened;
        return answers;
      },
    },
  };
}

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
      const { store, asked, answer } = heldStore();
      const server = await suite.serve(
        { name: 'abort', policy: oncePerHour, cost, skip, store, timeoutMs: 60_000 },
        { place, more: [ping] },
      );
      const socket = await open(server.port);
      socket.write(GET);
      await asked.reaches(1);
      await leave(server.port, socket);

      answer();
      const statuses = await server.statuses(1);

      expect(statuses).toEqual([429]);
      expect(server.calls.length).toBeLessThanOrEqual(1);
    });

    it('still has the address of a client that disconnects during skip', async () => {
      const keys: unknown[] = [];
      const decisions = tally();
      const begun = tally();
      const held = gate();
      const server = await suite.serve(
        {
          name: 'abort',
          policy: oncePerHour,
          skip: async ({ headers }) => {
            if (headers['x-ping'] === 'yes') return true;
            begun.add();
            await held.opened;
            return false;
          },
          onDecision: (_decision, { key }) => {
            keys.push(key);
            decisions.add();
          },
        },
        { place, more: [ping] },
      );
      const socket = await open(server.port);
      socket.write(GET);
      await begun.reaches(1);
      await leave(server.port, socket);

      held.open();
      await decisions.reaches(1);

      expect(keys).toEqual(['127.0.0.1']);
      expect(await server.statuses(1)).toEqual([429]);
    });
  });
}
