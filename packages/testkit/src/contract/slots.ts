import { PassThrough } from 'node:stream';
import { expect } from '@jest/globals';
import { byHeader } from '@sluice/old-http';
import { concurrency, createLimiter, fixedWindow, type Decision, type Limiter } from '@sluice/old-core';
import { open } from '../raw-http.ts';
import { until } from '../until.ts';
import { begin, GET, http2Session, isPing, leave, ping, pings, statusOf } from './connections.ts';
import { header, type AnyRequest, type Handle } from './adapter.ts';
import { gate, type Gate } from './gate.ts';
import type { HttpAnswer } from './http-client.ts';
import { fieldsOf } from './limiter-fields.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Exactly, Suite } from './suite.ts';
import { watched } from './watched-store.ts';

const PREFLIGHT = {
  method: 'OPTIONS',
  headers: { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' },
} as const;
const key = (): string => 'all';

/** A handler that waits for a gate. */
function waiting(): { readonly handlers: Gate; readonly handle: Handle } {
  const handlers = gate();
  const handle: Handle = async () => {
    await handlers.opened;
    await new Promise(setImmediate); // so that handlers that may not run together would be seen together
    return { body: 'hello' };
  };
  return { handlers, handle };
}

/** Throws where the request asks for it. */
function throwIfAsked(request: AnyRequest): void {
  if (header(request, 'x-throws') === 'yes') throw new Error('broken');
}

/** Requests in flight: slots that are held until the response ends in any way. */
export function slots(suite: Suite): void {
  describe.each(suite.everywhere)('a limit of requests in flight, $place, over $kind', ({ stores, place }) => {
    it('lets at most its limit run at once, and the next one when one ends', async () => {
      const decisions = new Log<Decision>();
      const { handlers, handle } = waiting();
      const limiter = inFlight(stores.fresh(), 3);
      const server = await suite.serve({ limiter, key, onDecision: decisions.add }, { place, handle });

      const answers = Array.from({ length: 10 }, async () => server.send());
      await decisions.reaches(10);
      await server.calls.reaches(3);
      handlers.open();
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      const later = await server.statuses(10);

      expect(statuses.filter((status) => status === 200)).toHaveLength(3);
      expect(statuses.filter((status) => status === 429)).toHaveLength(7);
      expect(Math.max(...server.calls.all.map(({ running }) => running))).toBe(3);
      expect(later).toEqual(later.map(() => 200));
      await asIfNeverUsed(limiter);
    });

    it('frees the slots of clients that never read, after maxSlotMs', async () => {
      const exactly = watched(stores.fresh());
      const limiter = inFlight(exactly, 2);
      const server = await suite.serve(
        { limiter, key, maxSlotMs: 300 },
        { place, handle: () => ({ body: 'x'.repeat(20_000_000) }) },
      );
      const sockets = [await open(server.port), await open(server.port)];
      for (const socket of sockets) socket.pause().write(GET);
      await server.calls.reaches(2);
      await exactly.store.answered('release').reaches(2);

      await asIfNeverUsed(limiter);

      for (const socket of sockets) socket.destroy();
    });

    it('states the free slots in its fields, without a time, because it is unknown (V7)', async () => {
      const { handlers, handle } = waiting();
      const server = await suite.serve(
        { name: 'in-flight', policy: concurrency({ limit: 2, ttl: '30s' }), key, ...stores.fresh() },
        { place, handle },
      );
      const running = [server.send(), server.send()];
      await server.calls.reaches(2);
      const denied = await server.send();
      handlers.open();
      const allowed = await Promise.all(running);
      const policy = '"in-flight";q=2;qu="concurrent-requests"';

      expect(denied.status).toBe(429);
      expect(fieldsOf(denied)).toEqual({ policy, state: '"in-flight";r=0', retryAfter: undefined });
      expect(denied.headers['cache-control']).toBe('no-store');
      expect(JSON.parse(denied.body)).toMatchObject({ status: 429, 'violated-policies': ['in-flight'] });
      expect(allowed.map(fieldsOf)).toEqual([
        { policy, state: '"in-flight";r=1', retryAfter: undefined },
        { policy, state: '"in-flight";r=0', retryAfter: undefined },
      ]);
    });

    it('releases the slot of a handler that throws or responds with an error', async () => {
      const limiter = inFlight(stores.fresh(), 1);
      const server = await suite.serve(
        { limiter, key },
        {
          place,
          handle(call) {
            throwIfAsked(call);
            return { status: 503 };
          },
        },
      );

      const thrown = await server.statuses(3, { headers: { 'X-Throws': 'yes' } });

      expect([...thrown, ...(await server.statuses(2))]).toEqual([500, 500, 500, 503, 503]);
    });

    it('releases the slot of a request whose onDecision throws', async () => {
      const limiter = inFlight(stores.fresh(), 1);
      const server = await suite.serve(
        {
          limiter,
          key,
          onDecision: (_decision, { request }) => {
            throwIfAsked(request);
          },
        },
        { place },
      );

      const thrown = await server.statuses(3, { headers: { 'X-Throws': 'yes' } });

      expect([...thrown, ...(await server.statuses(2))]).toEqual([500, 500, 500, 200, 200]);
    });

    it('holds a slot for a HEAD and a bare OPTIONS, and none for a preflight, skip or allow', async () => {
      const { handlers, handle } = waiting();
      const limiter = inFlight(stores.fresh(), 1);
      const byKey = (request: AnyRequest): string => header(request, 'x-key') ?? 'all';
      const server = await suite.serve({ limiter, skip: isPing, allow: ['all-of-bob'], key: byKey }, { place, handle });
      const head = server.send({ method: 'HEAD' });
      await server.calls.reaches(1);

      const denied = await server.send({ method: 'HEAD' });
      const preflight = await server.send(PREFLIGHT);
      const skipped = server.send({ headers: { 'X-Ping': 'yes' } });
      const allowed = server.send({ headers: { 'X-Key': 'all-of-bob' } });
      handlers.open();

      expect([denied.status, denied.body]).toEqual([429, '']);
      expect(preflight.status).not.toBe(429);
      expect([(await head).status, (await skipped).status, (await allowed).status]).toEqual([200, 200, 200]);
      expect(await server.statuses(2, { method: 'HEAD' })).toEqual([200, 200]);
      for (let i = 0; i < 3; i++) expect((await server.send({ method: 'OPTIONS' })).status).not.toBe(429);
      await asIfNeverUsed(limiter);
    });

    it('with mode report holds and releases slots, and denies no request', async () => {
      const decisions = new Log<Decision>();
      const { handlers, handle } = waiting();
      const limiter = inFlight(stores.fresh(), 2);
      const server = await suite.serve({ limiter, key, mode: 'report', onDecision: decisions.add }, { place, handle });

      const answers: Promise<HttpAnswer>[] = [];
      for (let i = 1; i <= 4; i++) {
        answers.push(server.send());
        await server.calls.reaches(i);
      }
      handlers.open();

      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(decisions.all.map(({ outcome, remaining }) => [outcome, remaining])).toEqual([
        ['allowed', 1],
        ['allowed', 0],
        ['denied', 0],
        ['denied', 0],
      ]);
      await asIfNeverUsed(limiter);
    });

    it('together with a window consumes all or nothing, and returns only the slot', async () => {
      const { handlers, handle } = waiting();
      const policy = [
        fixedWindow({ limit: 3, window: '1h', name: 'calls' }),
        concurrency({ limit: 1, ttl: '1h', name: 'in-flight' }),
      ];
      const limiter = createLimiter({ name: 'mixed', policy, ...stores.fresh() });
      const server = await suite.serve({ limiter, key }, { place, handle });
      const leftOf = async (): Promise<number[]> =>
        (await limiter.peek('all')).policies.map(({ remaining }) => remaining);

      const first = server.send();
      await server.calls.reaches(1);
      const denied = await server.statuses(3);
      const during = await leftOf();
      handlers.open();
      await first;
      const allowed = await server.statuses(2);
      const [late, later] = [await server.send(), await server.send()];

      expect(denied).toEqual([429, 429, 429]);
      expect(during).toEqual([2, 0]);
      expect(allowed).toEqual([200, 200]);
      expect([late.status, later.status]).toEqual([429, 429]);
      expect(Number(late.headers['retry-after'])).toBeGreaterThan(3000);
      expect(late.headers['ratelimit']).toMatch(/^"calls";r=0;t=\d+, "in-flight";r=1$/);
      expect(await leftOf()).toEqual([0, 1]);
    });

    it('beside a limit with another key consumes all or nothing', async () => {
      const { handlers, handle } = waiting();
      const server = await suite.serve(
        {
          name: 'both',
          limits: [
            { name: 'per-user', policy: concurrency({ limit: 1, ttl: '1h' }), key: byHeader('x-user') },
            { name: 'of-all', policy: concurrency({ limit: 2, ttl: '1h' }), key },
          ],
          ...stores.fresh(),
        },
        { place, handle },
      );
      const of = (user: string) => ({ headers: { 'X-User': user } });
      const states: (string | undefined)[] = [];

      const ann = server.send(of('ann'));
      await server.calls.reaches(1);
      for (let i = 0; i < 3; i++) states.push((await server.send(of('ann'))).headers['ratelimit']);
      const bob = server.send(of('bob'));
      await server.calls.reaches(2);
      states.push((await server.send(of('cid'))).headers['ratelimit']);
      handlers.open();
      const statuses = [(await ann).status, (await bob).status];

      const annsState = '"per-user";r=0, "of-all";r=1';
      expect(states).toEqual([annsState, annsState, annsState, '"per-user";r=1, "of-all";r=0']);
      expect([...statuses, ...(await server.statuses(2, of('cid')))]).toEqual([200, 200, 200, 200]);
    });

    it('releases at once the slot of a client that disconnects before the decision', async () => {
      const answers = gate();
      const exactly = watched(stores.fresh(), { hold: answers, asRedis: true });
      const limiter = inFlight(exactly, 1);
      const server = await suite.serve(
        { limiter, key, skip: isPing },
        { place, more: [ping], handle: () => new Promise(() => {}) },
      );
      const socket = await begin(server.port);
      await exactly.store.answered('consume').reaches(1);
      await leave(socket);
      await pings(server);

      answers.open();

      await asIfNeverUsed(limiter);
    });

    it('releases a slot once, also with a refund', async () => {
      const { handlers, handle } = waiting();
      const exactly = watched(stores.fresh());
      const limiter = createLimiter({
        name: 'mixed',
        policy: [
          fixedWindow({ limit: 3, window: '1h', name: 'calls' }),
          concurrency({ limit: 3, ttl: '1h', name: 'in-flight' }),
        ],
        ...exactly,
      });
      const server = await suite.serve({ limiter, key, refund: 'on-success' }, { place, handle });
      const others = [server.send(), server.send()];
      await server.calls.reaches(2);

      const third = limiter.acquire('all');
      const quick = (await third).decision;
      handlers.open();
      await Promise.all(others);
      await exactly.store.answered('release').reaches(2);

      expect(quick.allowed).toBe(true);
      const left = await until('units are back, and the slot of another is not', async () => {
        const { policies } = await limiter.peek('all');
        return policies[0]?.remaining === 2 && policies;
      });
      expect(left.map(({ remaining }) => remaining)).toEqual([2, 2]);
      await (await third).release();
    });
  });

  describe.each(suite.stores)('a limit of requests in flight, over $kind', (stores) => {
    it('keeps the slot of a response that lasts longer than the ttl', async () => {
      const [exactly, rest] = [watched(stores.fresh()), gate()];
      const server = await suite.serve(
        { policy: concurrency({ limit: 1, ttl: 1500 }), key, ...exactly },
        {
          handle(call) {
            if (header(call, 'x-long') !== 'yes') return { body: 'short' };
            const stream = new PassThrough();
            stream.write('first');
            void rest.opened.then(() => stream.end('last'));
            return { stream };
          },
        },
      );
      const long = server.send({ headers: { 'X-Long': 'yes' } });
      await exactly.store.answered('renew').reaches(4);
      const during = await server.statuses(2);
      rest.open();
      const { status, body: sent } = await long;

      expect(during).toEqual([429, 429]);
      expect([status, sent]).toEqual([200, 'firstlast']);
      expect(await server.statuses(2)).toEqual([200, 200]);
    });

    it('counts each stream of HTTP/2', async () => {
      const { handlers, handle } = waiting();
      const limiter = inFlight(stores.fresh(), 2);
      const app = await suite.serve({ limiter, key }, { http2: true, handle });
      const session = await http2Session(suite, app.port);
      const ask = async (): Promise<number> => statusOf(session.request({ ':path': '/items' }));

      const [first, second] = [ask(), ask()];
      await app.calls.reaches(2);
      const denied = await ask();
      handlers.open();

      expect([await first, await second, denied]).toEqual([200, 200, 429]);
      await asIfNeverUsed(limiter);
      const later: number[] = [];
      for (let i = 0; i < 10; i++) later.push(await ask());
      expect(later).toEqual(later.map(() => 200));
      await asIfNeverUsed(limiter);
    });
  });
}

/** A limiter of requests in flight that frees no slot by itself while a test runs. */
function inFlight(exactly: Exactly, limit: number): Limiter {
  return createLimiter({ name: 'in-flight', policy: concurrency({ limit, ttl: '1h' }), ...exactly });
}

async function asIfNeverUsed(limiter: Limiter): Promise<void> {
  await until('the slots are free', async () => {
    const { remaining, limit, resetAfterMs } = await limiter.peek('all');
    return remaining === limit && resetAfterMs === 0;
  });
}
