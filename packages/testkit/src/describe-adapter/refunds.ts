import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow, silenceWarnings, type RefundOptions, type Store } from '@sluice/core';
import { fakeClock } from '../fake-clock.ts';
import { open } from '../raw-http.ts';
import { until } from '../until.ts';
import { gate, tally, type Gate, type Tally } from './gate.ts';
import { send, type HttpAnswer } from './http-client.ts';
import { PLACES, type Exactly, type LimitPlace, type Server, type Suite } from './suite.ts';
import type { AnyRequest, Answer, SuiteOptions } from './target.ts';

const fiveFailures = fixedWindow({ limit: 5, window: '1h' });
const POST = 'POST /items HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n';
const ping = { method: 'GET', path: '/ping', handle: () => ({ body: 'pong' }) } as const;

const stateOf = ({ headers }: HttpAnswer): string | undefined => headers['ratelimit'];

/** Units that are refunded once the response is known (B16). */
export function refunds(suite: Suite): void {
  beforeAll(() => {
    silenceWarnings('SLUICE_REFUND_FAILED');
  });

  describe.each(suite.stores.flatMap((stores) => PLACES.map((place) => ({ stores, kind: stores.kind, place }))))(
    'a limit that refunds units, $place, over $kind',
    ({ stores, place }) => {
      it('of five failures lets 20 good logins pass, and five bad ones', async () => {
        const server = await suite.serve(
          { name: 'login', policy: fiveFailures, refund: 'on-success', ...stores.fresh() },
          {
            place,
            method: 'POST',
            handle: ({ headers }) => ({ status: headers['x-password'] === 'good' ? 200 : 401 }),
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
          { place, handle: ({ headers }) => ({ status: Number(headers['x-status'] ?? 200) }) },
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
            refund: async ({ headers }) => Promise.resolve(headers['x-cached'] === 'yes'),
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
        const begun = tally();
        const held = gate();
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
            handle: async () => {
              begun.add();
              await held.opened;
              return { body: 'late' };
            },
          },
        );
        const sockets: Socket[] = [];
        for (let i = 0; i < 2; i++) {
          const socket = await open(server.port);
          socket.write(POST);
          sockets.push(socket);
        }
        await begun.reaches(2);
        for (const socket of sockets) socket.resetAndDestroy();
        // When another connection has its response, the server has noticed these disconnects.
        for (let i = 0; i < 3; i++) await send(server.port, { path: '/ping', headers: { 'X-Ping': 'yes' } });

        held.open();
        const statuses = await server.statuses(3);

        expect(statuses).toEqual([429, 429, 429]);
        expect(server.calls).toHaveLength(2);
      });

      it('refunds nothing for a pipelined response that is cut off', async () => {
        const finished = tally();
        const held = gate();
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
            handle: async ({ headers }) => {
              finished.add();
              if (headers['x-held'] === 'yes') await held.opened;
              return { body: 'x'.repeat(20_000_000) };
            },
          },
        );
        const socket = await open(server.port);
        socket.on('error', () => undefined);
        socket.pause();
        const get = (more = '') => `GET /items HTTP/1.1\r\nHost: test\r\n${more}\r\n`;
        socket.write(`GET /ping HTTP/1.1\r\nHost: test\r\nX-Ping: yes\r\n\r\n${get('X-Held: yes\r\n')}${get()}`);
        await finished.reaches(2);
        held.open();
        for (let i = 0; i < 3; i++) await send(server.port, { path: '/ping', headers: { 'X-Ping': 'yes' } });
        socket.resetAndDestroy();
        for (let i = 0; i < 10; i++) await send(server.port, { path: '/ping', headers: { 'X-Ping': 'yes' } });

        expect(await server.statuses(1)).toEqual([429]);
      });

      it('hears of a response that is cut off with onAbort, as of a failure, or by its function', async () => {
        const begun = tally();
        const heard = tally();
        const serve = async (when: NonNullable<RefundOptions<AnyRequest, never>['when']>): Promise<Server> =>
          suite.serve(
            {
              name: 'aborted',
              policy: fixedWindow({ limit: 1, window: '1h' }),
              refund: { when, onAbort: true },
              ...stores.fresh(),
            },
            {
              place,
              handle: async ({ headers }) => {
                begun.add();
                if (headers['x-held'] === 'yes') await new Promise(() => undefined);
                return { body: 'hello' };
              },
            },
          );
        const abort = async (server: Server): Promise<void> => {
          const before = begun.count;
          const socket = await open(server.port);
          socket.write('GET /items HTTP/1.1\r\nHost: test\r\nX-Held: yes\r\n\r\n');
          await begun.reaches(before + 1);
          socket.resetAndDestroy();
        };

        const failing = await serve('on-failure');
        await abort(failing);
        await until('the unit is back', async () => (await failing.statuses(1))[0] === 200);
        const own = await serve(({ headers }) => {
          heard.add();
          return headers['x-held'] === 'yes';
        });
        await abort(own);
        await until('the unit is back', async () => (await own.statuses(1))[0] === 200);

        expect(heard.count).toBe(2);
        expect(await own.statuses(1)).toEqual([429]);
      });

      it('of 20 simultaneous requests lets five run together, and denies the rest', async () => {
        const { running, handled, decisions, serve } = manyAtOnce(suite);
        const server = await serve({ refund: 'on-success', ...stores.fresh() }, place);

        const answers = Array.from({ length: 20 }, async () => server.send());
        await decisions.reaches(20);
        handled.open();
        const statuses = (await Promise.all(answers)).map(({ status }) => status);

        expect(statuses.filter((status) => status === 200)).toHaveLength(5);
        expect(statuses.filter((status) => status === 429)).toHaveLength(15);
        expect(running.highest).toBe(5);
        expect(server.calls).toHaveLength(5);
        expect(await server.statuses(6)).toEqual([200, 200, 200, 200, 200, 200]);
      });

      it('of 20 simultaneous requests lets all pass with holdMs, at most five at a time', async () => {
        const { running, handled, serve } = manyAtOnce(suite);
        const server = await serve({ refund: { when: 'on-success', holdMs: 30_000 }, ...stores.fresh() }, place);

        const answers = Array.from({ length: 20 }, async () => server.send());
        await running.reaches(5);
        handled.open();
        const statuses = (await Promise.all(answers)).map(({ status }) => status);

        expect(statuses).toEqual(statuses.map(() => 200));
        expect(running.highest).toBe(5);
        expect(server.calls).toHaveLength(20);
      });

      it('consumes again for a request that waits with holdMs, and denies none for a try that came too early', async () => {
        const asked = tally();
        const begun = tally();
        const held = gate();
        const { store, ...rest } = stores.fresh();
        const watched: Store = {
          source: store.source,
          perform(requests, call) {
            asked.add();
            return store.perform(requests, call);
          },
        };
        const server = await suite.serve(
          {
            name: 'patient',
            policy: fixedWindow({ limit: 1, window: '1h' }),
            refund: { when: 'on-success', holdMs: 30_000 },
            store: watched,
            ...rest,
          },
          {
            place,
            handle: async () => {
              begun.add();
              await held.opened;
              return { body: 'hello' };
            },
          },
        );
        const first = server.send();
        await begun.reaches(1);
        const second = server.send();
        await asked.reaches(3); // once for the first, and twice for the second

        held.open();
        const statuses = [(await first).status, (await second).status];

        expect(statuses).toEqual([200, 200]);
        expect(server.calls).toHaveLength(2);
      });

      it('denies a request that waited in vain', async () => {
        const server = await suite.serve(
          { name: 'vain', policy: fiveFailures, refund: { when: 'on-success', holdMs: 20 }, ...stores.fresh() },
          { place, method: 'POST', handle: () => ({ status: 401 }) },
        );

        const statuses = await server.statuses(6);

        expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
      });

      it('never refunds into a later window', async () => {
        const clock = fakeClock();
        const begun = tally();
        const held = gate();
        const server = await suite.serve(
          {
            name: 'windows',
            policy: fixedWindow({ limit: 3, window: '60s' }),
            refund: refundOfTheHeld,
            ...stores.fresh(clock),
          },
          {
            place,
            handle: async ({ headers }): Promise<Answer> => {
              begun.add();
              if (headers['x-held'] === 'yes') await held.opened;
              return { body: 'hello' };
            },
          },
        );
        const late = server.send({ headers: { 'X-Held': 'yes' } });
        await begun.reaches(1);
        clock.advance(60_000);
        const first = await server.send();

        held.open();
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
    },
  );
}

/** Logins under five failures that wait for a gate, and how many of them run. */
interface ManyAtOnce {
  readonly running: Tally;
  readonly decisions: Tally;
  readonly handled: Gate;
  readonly serve: (options: Pick<SuiteOptions, 'refund'> & Exactly, place: LimitPlace) => Promise<Server>;
}

function manyAtOnce(suite: Suite): ManyAtOnce {
  const running = tally();
  const decisions = tally();
  const handled = gate();
  const onDecision = (): void => {
    decisions.add();
  };
  const handle = async (): Promise<Answer> => {
    running.add();
    await handled.opened;
    await new Promise(setImmediate);
    running.add(-1);
    return { body: 'welcome' };
  };
  return {
    running,
    decisions,
    handled,
    serve: async (options, place) =>
      suite.serve({ name: 'login', policy: fiveFailures, onDecision, ...options }, { place, method: 'POST', handle }),
  };
}

interface AnyHeaders {
  readonly headers: Readonly<Record<string, unknown>>;
}

function isPing({ headers }: AnyHeaders): boolean {
  return headers['x-ping'] === 'yes';
}

function refundOfTheHeld({ headers }: AnyHeaders): boolean {
  return headers['x-held'] === 'yes';
}
