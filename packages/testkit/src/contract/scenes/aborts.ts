import { expect } from '@jest/globals';
import type { RefundOptions } from '@sluice/core/http';
import { until } from '../../until.ts';
import type { AnyRequest } from '../adapter.ts';
import { begin, makeBytes, isHeld, isPing, leave, pings, waiting } from '../connections.ts';
import { gate } from '../../gate.ts';
import { Log } from '../log.ts';
import { hourly } from '../row.ts';
import { BOTH, exactly, scene, type Scene } from '../stage.ts';
import { watched } from '../stores.ts';

const held = { headers: { 'X-Held': 'yes' } };

/** Requests that ask for it are handled once a gate opens, others at once. */
const holding = (body?: string) => waiting(body, isHeld);

/** Clients that leave before the decision or the answer, and late answers. An unhandled rejection fails the test. */
export const aborts: readonly Scene[] = [
  ...(['allowed', 'denied'] as const).map((outcome) =>
    scene(`a client may disconnect while the store is asked: ${outcome}`, BOTH, async (stage) => {
      const answers = gate();
      const store = watched(stage.store(), answers);
      const cost = outcome === 'allowed' ? 1 : 2;
      const server = await stage.serve({ ...exactly(store), policy: hourly(1), cost, skip: isPing });
      const socket = await begin(server.port);
      await store.performed('take').reaches(1);
      await leave(socket);
      await pings(server);

      answers.open();

      expect(await server.statuses(1)).toEqual([429]);
      expect(server.calls.count).toBeLessThanOrEqual(1);
    }),
  ),
  scene('a client that disconnects during skip still has its address', BOTH, async (stage) => {
    const [begun, keys, answers] = [new Log(), new Log(), gate()];
    const server = await stage.serve({
      policy: hourly(1),
      async skip(request) {
        if (isPing(request)) return true;
        begun.add(request);
        await answers.opened;
        return false;
      },
      onDecision: (_decision, { key }) => {
        keys.add(key);
      },
    });
    const socket = await begin(server.port);
    await begun.reaches(1);
    await leave(socket);
    await pings(server);

    answers.open();
    await keys.reaches(1);

    expect(keys.all).toEqual(['127.0.0.1']);
    expect(await server.statuses(1)).toEqual([429]);
  }),
  scene('an answer that is cut off gives nothing back, also if it is pipelined (B16)', BOTH, async (stage) => {
    const { handle, open } = holding('x'.repeat(20_000_000));
    const server = await stage.serve({ policy: hourly(2), refund: 'on-success', skip: isPing }, { handle });
    const socket = await begin(server.port, makeBytes('X-Held: yes') + makeBytes());
    socket.pause();
    await server.calls.reaches(2);
    open();
    await pings(server);
    await leave(socket);
    await pings(server, 10);

    expect(await server.statuses(1)).toEqual([429]);
  }),
  ...(['on-failure', isHeld] as const).map((when: RefundOptions<AnyRequest, never>['when']) =>
    scene(`an answer that is cut off is judged with onAbort, by ${typeof when}`, BOTH, async (stage) => {
      const server = await stage.serve({ policy: hourly(1), refund: { when, onAbort: true } }, holding());
      const socket = await begin(server.port, makeBytes('X-Held: yes'));
      await server.calls.reaches(1);
      await leave(socket);

      await until('the unit is back', async () => (await server.statuses(1))[0] === 200);

      expect(await server.statuses(1)).toEqual([429]);
    }),
  ),
  scene('of 20 simultaneous requests five run together, though each is refunded (B16)', BOTH, async (stage) => {
    const decisions = new Log();
    const { handle, open } = holding();
    const server = await stage.serve(
      { policy: hourly(5), refund: 'on-success', onDecision: decisions.add },
      { handle },
    );

    const answers = Array.from({ length: 20 }, async () => server.send(held));
    await decisions.reaches(20);
    open();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).toSorted();

    expect(statuses).toEqual([...Array.from({ length: 5 }, () => 200), ...Array.from({ length: 15 }, () => 429)]);
    expect(server.calls.count).toBe(5);
    expect(await server.statuses(6)).toEqual([200, 200, 200, 200, 200, 200]);
  }),
  scene('a refund never reaches a later window (B16)', BOTH, async (stage) => {
    const { handle, open } = holding();
    const server = await stage.serve({ policy: hourly(2), refund: isHeld }, { handle });
    const late = server.send(held);
    await server.calls.reaches(1);
    stage.clock.advance(3_600_000);
    const first = await server.statuses(1);

    open();
    await late;

    expect([...first, ...(await server.statuses(2))]).toEqual([200, 200, 429]);
  }),
];
