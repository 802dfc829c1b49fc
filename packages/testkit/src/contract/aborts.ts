import { expect } from '@jest/globals';
import { fixedWindow, memoryStore } from '@sluice/old-core';
import { begin, isPing, leave, ping, pings } from './connections.ts';
import { gate } from './gate.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';
import { watched } from './watched-store.ts';

const oncePerHour = fixedWindow({ limit: 1, window: '1h' });

/** Clients that disconnect before the decision. An unhandled rejection fails the test. */
export function aborts(suite: Suite): void {
  describe.each(PLACES)('a limit %s', (place) => {
    it.each([
      ['allowed', 1],
      ['denied', 2],
    ])('continues when the client disconnects during the store call: %s', async (_outcome, cost) => {
      const answers = gate();
      const { store } = watched({ store: memoryStore() }, { hold: answers, asRedis: true });
      const server = await suite.serve(
        { name: 'abort', policy: oncePerHour, cost, skip: isPing, store, timeoutMs: 60_000 },
        { place, more: [ping] },
      );
      const socket = await begin(server.port);
      await store.answered('consume').reaches(1);
      await leave(socket);
      await pings(server);

      answers.open();
      const statuses = await server.statuses(1);

      expect(statuses).toEqual([429]);
      expect(server.calls.count).toBeLessThanOrEqual(1);
    });

    it('still has the address of a client that disconnects during skip', async () => {
      const [begun, keys, skip] = [new Log(), new Log(), gate()];
      const server = await suite.serve(
        {
          name: 'abort',
          policy: oncePerHour,
          async skip(request) {
            if (isPing(request)) return true;
            begun.add(request);
            await skip.opened;
            return false;
          },
          onDecision: (_decision, { key }) => {
            keys.add(key);
          },
        },
        { place, more: [ping] },
      );
      const socket = await begin(server.port);
      await begun.reaches(1);
      await leave(socket);
      await pings(server);

      skip.open();
      await keys.reaches(1);

      expect(keys.all).toEqual(['127.0.0.1']);
      expect(await server.statuses(1)).toEqual([429]);
    });
  });
}
