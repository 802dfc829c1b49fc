import type { Socket } from 'node:net';
import { expect } from '@jest/globals';
import type { RefundOptions } from '@sluice/old-http';
import { fixedWindow, type Decision } from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { open } from '../raw-http.ts';
import { until } from '../until.ts';
import { begin, isPing, ping, pings } from './connections.ts';
import { header, numberIn, type AnyRequest } from './adapter.ts';
import { gate } from './gate.ts';
import type { HttpAnswer } from './http-client.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Server, Suite } from './suite.ts';

const fiveFailures = fixedWindow({ limit: 5, window: '1h' });
const POST = 'POST /items HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n';
const asksToWait = (request: AnyRequest): boolean => header(request, 'x-held') === 'yes';

const stateOf = ({ headers }: HttpAnswer): string | undefined => headers['ratelimit'];

/** Units that are refunded once the response is known (B16). */
export function refunds(suite: Suite): void {
  describe.each(suite.everywhere)('a limit that refunds units, $place, over $kind', ({ stores, place }) => {
    it('of five failures lets 20 good logins pass, and five bad ones', async () => {
      const server = await suite.serve(
        { name: 'login', policy: fiveFailures, refund: 'on-success', ...stores.fresh() },
        {
          place,
          method: 'POST',
          handle: (call) => ({ status: header(call, 'x-password') === 'good' ? 200 : 401 }),
        },
      );
      const good = { headers: { 'X-Password': 'good' } };

      const before = await server.statuses(20, good);
      const bad = await server.statuses(5);
      const after = await server.statuses(1, good);

      expect(before).toEqual(before.map(() => 200));
      expect(bad).toEqual([401, 401, 401, 401, 401]);
      expect(after).toEqual([429]);
    });

    it('"on-failure" counts those that succeed', async () => {
      const server = await suite.serve(
        { name: 'orders', policy: fixedWindow({ limit: 2, window: '1h' }), refund: 'on-failure', ...stores.fresh() },
        { place, handle: (call) => ({ status: numberIn(call, 'x-status', 200) }) },
      );

      const failed = [];
      for (const status of ['400', '404', '500', '503', '400']) {
        failed.push(...(await server.statuses(1, { headers: { 'X-Status': status } })));
      }
      const good = await server.statuses(5);

      expect(failed).toEqual([400, 404, 500, 503, 400]);
      expect(good).toEqual([200, 200, 429, 429, 429]); // a denial consumed nothing that could be refunded
    });

    it('by a function refunds when the function returns true', async () => {
      const server = await suite.serve(
        {
          name: 'cached',
          policy: fixedWindow({ limit: 2, window: '1h' }),
          refund: async (request) => Promise.resolve(header(request, 'x-cached') === 'yes'),
          ...stores.fresh(),
        },
        { place },
      );

      const cached = await server.statuses(6, { headers: { 'X-Cached': 'yes' } });
      const fresh = await server.statuses(3);

      expect(cached).toEqual([200, 200, 200, 200, 200, 200]);
      expect(fresh).toEqual([200, 200, 429]);
    });

    it('refunds nothing for a response that is cut off', async () => {
      const handlers = gate();
      const server = await suite.serve(
        {
          name: 'cut',
          policy: fixedWindow({ limit: 2, window: '1h' }),
          refund: 'on-success',
          skip: isPing,
          ...stores.fresh(),
        },
        {
          place,
          method: 'POST',
          more: [ping],
          handle: () => handlers.opened.then(() => ({ body: 'late' })),
        },
      );
      const sockets: Socket[] = [];
      for (let i = 0; i < 2; i++) sockets.push(await begin(server.port, POST));
      await server.calls.reaches(2);
      for (const socket of sockets) socket.resetAndDestroy();
      await pings(server);

      handlers.open();
      const statuses = await server.statuses(3);

      expect(statuses).toEqual([429, 429, 429]);
      expect(server.calls.count).toBe(2);
    });

    it('refunds nothing for a pipelined response that is cut off', async () => {
      const handlers = gate();
      const server = await suite.serve(
        {
          name: 'pipelined',
          policy: fixedWindow({ limit: 2, window: '1h' }),
          refund: 'on-success',
          skip: isPing,
          ...stores.fresh(),
        },
        {
          place,
          more: [ping],
          async handle(call) {
            if (asksToWait(call)) await handlers.opened;
            return { body: 'x'.repeat(20_000_000) };
          },
        },
      );
      const socket = await open(server.port);
      socket.on('error', () => undefined);
      socket.pause();
      const get = (more = '') => `GET /items HTTP/1.1\r\nHost: test\r\n${more}\r\n`;
      socket.write(`GET /ping HTTP/1.1\r\nHost: test\r\nX-Ping: yes\r\n\r\n${get('X-Held: yes\r\n')}${get()}`);
      await server.calls.reaches(2);
      handlers.open();
      await pings(server);
      socket.resetAndDestroy();
      await pings(server, 10);

      expect(await server.statuses(1)).toEqual([429]);
    });

    it('hears of a response that is cut off with onAbort, as of a failure, or by its function', async () => {
      const serve = async (refundWhen: RefundOptions<AnyRequest, never>['when']): Promise<Server> =>
        suite.serve(
          {
            name: 'aborted',
            policy: fixedWindow({ limit: 1, window: '1h' }),
            refund: { when: refundWhen, onAbort: true },
            ...stores.fresh(),
          },
          { place, handle: async (call) => (asksToWait(call) ? new Promise(() => {}) : { body: 'hello' }) },
        );
      const abort = async (server: Server): Promise<void> => {
        const before = server.calls.count;
        const socket = await begin(server.port, 'GET /items HTTP/1.1\r\nHost: test\r\nX-Held: yes\r\n\r\n');
        await server.calls.reaches(before + 1);
        socket.resetAndDestroy();
      };

      const failing = await serve('on-failure');
      await abort(failing);
      await until('the unit is back', async () => (await failing.statuses(1))[0] === 200);
      const heard = new Log();
      const own = await serve((request) => {
        heard.add(request);
        return asksToWait(request);
      });
      await abort(own);
      await until('the unit is back', async () => (await own.statuses(1))[0] === 200);

      expect(heard.count).toBe(2);
      expect(await own.statuses(1)).toEqual([429]);
    });

    it('of 20 simultaneous requests lets five run together, and denies the rest', async () => {
      const [decisions, handlers] = [new Log<Decision>(), gate()];
      const server = await suite.serve(
        { name: 'login', policy: fiveFailures, refund: 'on-success', onDecision: decisions.add, ...stores.fresh() },
        {
          place,
          method: 'POST',
          async handle() {
            await handlers.opened;
            await new Promise(setImmediate); // so that handlers that may not run together would be seen together
            return { body: 'welcome' };
          },
        },
      );

      const answers = Array.from({ length: 20 }, async () => server.send());
      await decisions.reaches(20);
      handlers.open();
      const statuses = (await Promise.all(answers)).map(({ status }) => status);

      expect(statuses.filter((status) => status === 200)).toHaveLength(5);
      expect(statuses.filter((status) => status === 429)).toHaveLength(15);
      expect(Math.max(...server.calls.all.map(({ running }) => running))).toBe(5);
      expect(server.calls.count).toBe(5);
      expect(await server.statuses(6)).toEqual([200, 200, 200, 200, 200, 200]);
    });

    it('never refunds into a later window', async () => {
      const [clock, handlers] = [fakeClock(), gate()];
      const server = await suite.serve(
        {
          name: 'windows',
          policy: fixedWindow({ limit: 3, window: '60s' }),
          refund: asksToWait,
          ...stores.fresh(clock),
        },
        {
          place,
          async handle(call) {
            if (asksToWait(call)) await handlers.opened;
            return { body: 'hello' };
          },
        },
      );
      const late = server.send({ headers: { 'X-Held': 'yes' } });
      await server.calls.reaches(1);
      clock.advance(60_000);
      const first = await server.send();

      handlers.open();
      await late;
      const second = await server.send();

      expect(stateOf(first)).toBe('"windows";r=2;t=60');
      expect(stateOf(second)).toBe('"windows";r=1;t=60');
    });

    it('still responds when the function throws, and refunds nothing', async () => {
      const server = await suite.serve(
        {
          name: 'broken',
          policy: fixedWindow({ limit: 2, window: '1h' }),
          refund: () => {
            throw new Error('broken');
          },
          ...stores.fresh(),
        },
        { place },
      );

      expect(await server.statuses(3)).toEqual([200, 200, 429]);
    });
  });
}
