import { PassThrough } from 'node:stream';
import { expect } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, type Decision, type Limiter, type Store } from '@sluice/core';
import { until } from '../../until.ts';
import { header, type AnyRequest, type Handle } from '../adapter.ts';
import { begin, isPing, visit, waiting, type Visit } from '../connections.ts';
import { gate } from '../../gate.ts';
import { Log } from '../log.ts';
import { AT_THE_ROUTE, BOTH, WAYS, exactly, scene, type Scene } from '../stage.ts';
import { watched } from '../stores.ts';

const key = (): string => 'all';
const makeSlots = (limit: number) => concurrency({ limit, ttl: '1h', name: 'in-flight' });

/** When a client leaves: before the decision, while the handler runs, or during the answer. */
const MOMENTS = ['undecided', 'handled', 'answered'];

/** A limiter of requests in flight whose slots do not expire during a test. */
function inFlight(store: Store, limit: number): Limiter {
  return createLimiter({ name: 'in-flight', policy: makeSlots(limit), ...exactly(store) });
}

async function asIfNeverUsed(limiter: Limiter): Promise<void> {
  await until('the slots are free', async () => {
    const { remaining, limit, resetAfterMs } = await limiter.peek('all');
    return remaining === limit && resetAfterMs === 0;
  });
}

/** Requests in flight: slots that are held until the response ends in any way. */
export const slots: readonly Scene[] = [
  scene('at most as many requests run at once as there are slots', [...BOTH, 'over Redis'], async (stage) => {
    const decisions = new Log<Decision>();
    const { open, handle } = waiting();
    const limiter = inFlight(stage.store(), 3);
    const server = await stage.serve({ limiter, key, onDecision: decisions.add }, { handle });

    const answers = Array.from({ length: 10 }, async () => server.send());
    await decisions.reaches(10);
    open();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).toSorted();
    await asIfNeverUsed(limiter); // a release is not awaited, and its script is sent again if the server does not know it yet
    const later = await server.statuses(5);

    expect(statuses).toEqual([200, 200, 200, ...Array.from({ length: 7 }, () => 429)]);
    expect(Math.max(...server.calls.all.map(({ running }) => running))).toBe(3);
    expect(later).toEqual([200, 200, 200, 200, 200]);
    await asIfNeverUsed(limiter);
  }),
  scene('a slot is held for a HEAD and a bare OPTIONS; none for a preflight or skip', BOTH, async (stage) => {
    const { open, handle } = waiting();
    const limiter = inFlight(stage.store(), 1);
    const server = await stage.serve({ limiter, skip: isPing, key }, { handle });
    const head = server.send({ method: 'HEAD' });
    await server.calls.reaches(1);

    const denied = await server.statuses(2, { method: 'HEAD' });
    const asked = { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' };
    const [preflight] = await server.statuses(1, { method: 'OPTIONS', headers: asked });
    const free = server.send({ headers: { 'X-Ping': 'yes' } });
    open();
    const statuses = (await Promise.all([head, free])).map(({ status }) => status);

    expect([...denied, ...statuses]).toEqual([429, 429, 200, 200]);
    expect(preflight).not.toBe(429);
    expect(await server.statuses(3, { method: 'OPTIONS' })).not.toContain(429);
    await asIfNeverUsed(limiter);
  }),
  scene('slots are held and released, and deny nothing, with mode: "report"', BOTH, async (stage) => {
    const decisions = new Log<Decision>();
    const { open, handle } = waiting();
    const limiter = inFlight(stage.store(), 1);
    const server = await stage.serve({ limiter, key, mode: 'report', onDecision: decisions.add }, { handle });
    const first = server.send();
    await server.calls.reaches(1);
    const second = server.send();
    await server.calls.reaches(2);
    open();

    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect(decisions.all.map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
    await asIfNeverUsed(limiter);
  }),
  scene('a slot of a client that never reads is released after maxSlotMs', BOTH, async (stage) => {
    const limiter = inFlight(stage.store(), 1);
    const handle = () => ({ body: 'x'.repeat(20_000_000) });
    const server = await stage.serve({ limiter, key, maxSlotMs: 50 }, { handle });
    const socket = await begin(server.port);
    socket.pause();
    await server.calls.reaches(1);

    await asIfNeverUsed(limiter);

    socket.destroy();
  }),
  scene('a slot is released once, also with a refund, and no unit of the window beside it', BOTH, async (stage) => {
    const { open, handle } = waiting();
    const store = watched(stage.store());
    const policy = [fixedWindow({ limit: 3, window: '1h', name: 'calls' }), makeSlots(3)];
    const limiter = createLimiter({ name: 'mixed', policy, ...exactly(store) });
    const server = await stage.serve({ limiter, key, refund: 'on-success' }, { handle });
    const others = [server.send(), server.send()];
    await server.calls.reaches(2);

    const third = await limiter.acquire('all');
    open();
    await Promise.all(others);
    await store.performed('release').reaches(2);
    await until('the units are back', async () => (await limiter.peek('all')).policies[0]?.remaining === 2);

    expect(third.decision.allowed).toBe(true);
    expect((await limiter.peek('all')).policies[1]?.remaining).toBe(2);
    await third.release();
  }),
  scene('a slot of an answer that lasts longer than the ttl is kept', AT_THE_ROUTE, async (stage) => {
    const [store, body] = [watched(stage.store()), new PassThrough()];
    const policy = concurrency({ limit: 1, ttl: 1000 });
    const server = await stage.serve({ policy, key, ...exactly(store) }, { handle: () => ({ stream: body }) });
    body.write('first');
    const long = server.send();
    for (const count of [1, 2]) {
      await store.performed('renew').reaches(count);
      stage.clock.advance(700);
    }

    const during = await server.statuses(1);
    body.end('last');

    expect(during).toEqual([429]);
    expect((await long).body).toBe('firstlast');
  }),
  scene('the slots of 90 aborted requests are free again, each released once', WAYS, async (stage) => {
    const [store, begun, decisions, left] = [watched(stage.store()), new Log(), new Log(), gate()];
    const limiter = inFlight(store, 90);
    const waitIf = async (moment: string, request: AnyRequest): Promise<boolean> => {
      if (header(request, 'x-leaves') !== moment) return false;
      begun.add(request);
      await left.opened;
      return false;
    };
    const skip = async (request: AnyRequest): Promise<boolean> => waitIf('undecided', request);
    const handle: Handle = async (call) => {
      await waitIf('handled', call);
      const body = new PassThrough();
      body.write('first');
      return { stream: body };
    };
    const server = await stage.serve({ limiter, key, skip, onDecision: decisions.add }, { handle });
    const visits: Visit[] = [];
    for (let i = 0; i < 90; i++) visits.push(await visit(stage, server, { 'x-leaves': MOMENTS[i % 3] ?? '' }));
    await begun.reaches(60);
    await Promise.all(visits.map(async ({ answered }, i) => i % 3 === 2 && answered()));

    await Promise.all(visits.map(({ leave }) => leave()));
    left.open();
    await decisions.reaches(90);
    await asIfNeverUsed(limiter);

    expect(store.performed('release').count).toBe(90);
    expect(decisions.all).toEqual(new Array(90).fill(expect.objectContaining({ allowed: true })));
  }),
];
