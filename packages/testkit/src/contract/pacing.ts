import type { Socket } from 'node:net';
import { expect } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  type Decision,
  type Limiter,
  type Policy,
  type StoreRequest,
} from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { statuses } from '../raw-http.ts';
import { until } from '../until.ts';
import { begin, GET, http2Session, leave } from './connections.ts';
import { numberIn } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { fieldsOf } from './limiter-fields.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { LimitPlace, RecordedCall, Server, Suite, SuiteStores } from './suite.ts';
import { watched } from './watched-store.ts';

const HOUR_MS = 3_600_000;
const SOON_MS = 200;
/** One an hour, so that a waiting request waits longer than any test. */
const hourly = leakyBucket({ name: 'pace', limit: 1, window: '1h', maxDelay: '9h' });
const fiftyPerSecond = (maxDelayMs: number): Policy => leakyBucket({ limit: 50, window: '1s', maxDelay: maxDelayMs });

/** More than timers of the runtime alone. */
const MANY = 30;
const SOME = 15;
const roomy = leakyBucket({ limit: 1, window: '1h', maxDelay: '2d' });

/** Requests that a leaky bucket starts one by one. */
export function pacing(suite: Suite): void {
  describe.each(suite.everywhere)('a limit that paces, $place, over $kind', ({ stores, kind, place }) => {
    it('starts 25 simultaneous requests one by one, none before its time by the clock of the store', async () => {
      const server = await suite.serve({ name: 'pace', policy: fiftyPerSecond(60_000), ...stores.fresh() }, { place });
      const before = kind === 'Redis' ? await serversLead(suite) : 0;

      const answers = await Promise.all(Array.from({ length: 25 }, async () => server.send()));
      const leadMs = kind === 'Redis' ? Math.max(before, await serversLead(suite)) : performance.timeOrigin;
      const starts = server.calls.all.map(({ rateLimit, startedAtMs }) => {
        const { atMs, delayMs } = rateLimit?.decision as Decision;
        return { scheduledMs: atMs + delayMs, startedMs: startedAtMs + leadMs };
      });
      const scheduled = starts.map(({ scheduledMs }) => scheduledMs).sort((a, b) => a - b);
      const early = starts.filter(({ scheduledMs, startedMs }) => startedMs < scheduledMs);

      expect(answers.map(({ status }) => status)).toEqual(new Array(25).fill(200));
      expect(Number(scheduled.at(-1)) - Number(scheduled[0])).toBeGreaterThan(24 * 20 - 1);
      expect(early).toEqual([]);
    });

    it('with room for ten of 50 simultaneous requests serves ten, each after its delay, and denies 40', async () => {
      const server = await suite.serve(
        { name: 'pace', policy: fiftyPerSecond(180), ...stores.fresh(fakeClock()) },
        { place },
      );

      const answers = await Promise.all(Array.from({ length: 50 }, async () => server.send(sentNow())));
      const denied = answers.filter(({ status }) => status === 429);
      // A busy machine begins several at once, in an order of its own.
      const waits = server.calls.all
        .map((call) => ({ delayMs: call.rateLimit?.decision.delayMs ?? NaN, waitedMs: waitedMs(call) }))
        .sort((one, other) => one.delayMs - other.delayMs);

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(denied).toHaveLength(40);
      expect(waits.map(({ delayMs }) => delayMs)).toEqual([0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
      expect(waits.filter(({ delayMs, waitedMs: waited }) => waited < delayMs)).toEqual([]);
      expect(denied.map((answer) => fieldsOf(answer).retryAfter)).toEqual(new Array(40).fill('1'));
    });

    it('denies a request without room at once, while earlier ones wait', async () => {
      const { server, decisions, visit, remaining } = await hourlyScene(suite, stores, place);
      const visits = await Promise.all(Array.from({ length: 50 }, visit));

      await decisions.reaches(50);
      await until('41 are answered', () => visits.filter(({ status }) => status() !== undefined).length === 41);

      expect(visits.filter(({ status }) => status() === 200)).toHaveLength(1);
      expect(visits.filter(({ status }) => status() === 429)).toHaveLength(40);
      expect(server.calls.count).toBe(1);
      expect(await remaining()).toBe(0);
    });

    it('frees only the last position at once when its client disconnects', async () => {
      const { decisions, delays, refunds, visit, remaining } = await hourlyScene(suite, stores, place);
      const visits: Visit[] = [];
      for (let i = 1; i <= 5; i++) {
        visits.push(await visit());
        await decisions.reaches(i);
      }

      await visits[1]?.leave();
      await visits[2]?.leave();
      await refunds.reaches(2);
      const withinTheLine = await remaining();
      await visits[4]?.leave();
      await refunds.reaches(3);
      const atItsEnd = await remaining();
      await visit();
      await decisions.reaches(6);

      expect([withinTheLine, atItsEnd]).toEqual([5, 6]);
      expect(delays()).toEqual([0, 1, 2, 3, 4, 4].map((hours) => hours * HOUR_MS));
    });

    it('leaves no timer behind for clients that disconnect, and does not start their requests', async () => {
      const before = timers();
      const { server, decisions, refunds, visit } = await hourlyScene(suite, stores, place, { policy: roomy });
      const visits: Visit[] = [];
      for (let i = 0; i <= MANY; i++) visits.push(await visit());
      await decisions.reaches(MANY + 1);
      await until('the first has started', () => server.calls.count === 1);

      for (const { leave } of visits) await leave();
      await refunds.reaches(MANY);
      await until('their timers are gone', () => timers() < before + SOME);

      expect(server.calls.count).toBe(1);
    });

    it('notices the end of a connection with several pipelined requests', async () => {
      const before = timers();
      const { server, decisions, refunds } = await hourlyScene(suite, stores, place, { policy: roomy });
      const socket = await begin(server.port, GET.repeat(MANY + 1));
      await decisions.reaches(MANY + 1);
      await until('the first has started', () => server.calls.count === 1);

      socket.resetAndDestroy();
      await refunds.reaches(MANY);
      await until('their timers are gone', () => timers() < before + SOME);

      expect(server.calls.count).toBe(1);
    });

    it('starts a request behind a disconnected one at its own time', async () => {
      const [clock, decisions] = [fakeClock(), new Log<Decision>()];
      const server = await suite.serve(
        { name: 'pace', policy: hourly, onDecision: decisions.add, ...stores.fresh(clock) },
        { place },
      );
      await server.send();
      const left = await begin(server.port);
      await decisions.reaches(2);
      // The timer of the second request runs for an hour, however slow the machine is.
      clock.advance(2 * HOUR_MS - SOON_MS);
      const behind = server.send(sentNow());
      await decisions.reaches(3);

      left.resetAndDestroy();
      const { status } = await behind;
      const waited = server.calls.all.map(waitedMs);
      const delays = decisions.all.map(({ delayMs }) => delayMs);

      expect(delays).toEqual([0, HOUR_MS, SOON_MS]);
      expect(status).toBe(200);
      expect(waited).toHaveLength(2);
      expect(waited[1]).toBeGreaterThanOrEqual(SOON_MS);
    });

    it('keeps the units that a disconnected client consumed from a window beside it', async () => {
      const window = fixedWindow({ name: 'window', limit: 100, window: '1d' });
      const { decisions, refunds, visit, limiter } = await hourlyScene(suite, stores, place, {
        policy: [hourly, window],
      });
      await visit();
      await decisions.reaches(1);
      const second = await visit();
      await decisions.reaches(2);

      await second.leave();
      await refunds.reaches(1);
      const { policies } = await limiter.peek('127.0.0.1');

      expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
        ['pace', 9],
        ['window', 98],
      ]);
    });

    it('holds at most maxPaced requests: one more is denied at once, and consumes nothing', async () => {
      const { server, decisions, delays, refunds, visit, remaining } = await hourlyScene(suite, stores, place, {
        maxPaced: 2,
      });
      const visits: Visit[] = [];
      for (let i = 1; i <= 3; i++) {
        visits.push(await visit());
        await decisions.reaches(i);
      }

      const denied = [await server.send(), await server.send()];
      const left = await remaining();
      await visits[2]?.leave();
      await refunds.reaches(1);
      await visit();
      await decisions.reaches(6);

      expect(denied.map(({ status }) => status)).toEqual([429, 429]);
      expect(denied.map(fieldsOf)).toEqual(
        denied.map(() => ({ policy: '"pace";q=10;w=3600', state: '"pace";r=0;t=10800', retryAfter: '10800' })),
      );
      expect(JSON.parse(denied[0]?.body ?? '')).toMatchObject({ 'violated-policies': ['pace'] });
      expect(left).toBe(7);
      expect(delays()).toEqual([0, 1, 2, 0, 0, 2].map((hours) => hours * HOUR_MS));
    });
  });

  describe.each(suite.stores)('over HTTP/2 and $kind, a limit that paces', (stores) => {
    it('leaves no timer behind for streams that are reset, and does not start their requests', async () => {
      const before = timers();
      const decisions = new Log<Decision>();
      const limit = { name: 'pace', policy: roomy, onDecision: decisions.add, ...stores.fresh() };
      const app = await suite.serve(limit, { http2: true });
      const client = await http2Session(suite, app.port);
      const streams = Array.from({ length: MANY + 1 }, () => client.request({ ':path': '/items' }));
      await decisions.reaches(MANY + 1);
      await until('the first has started', () => app.calls.count === 1);

      for (const stream of streams) stream.close(8);
      await until('their timers are gone', () => timers() < before + SOME);

      expect(app.calls.count).toBe(1);
    });
  });
}

/** A request that says when it was sent. */
function sentNow(): HttpRequest {
  return { headers: { 'X-Sent': String(performance.now()) } };
}

function waitedMs(call: RecordedCall): number {
  return call.startedAtMs - numberIn(call, 'x-sent', NaN);
}

/** Timers that keep this process alive. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** A connection over which one request was sent. */
interface Visit {
  /** The status of the response, once there is one. */
  readonly status: () => number | undefined;
  /** Resets the connection. */
  readonly leave: () => Promise<void>;
}

/** A server that starts one request an hour, by a clock that does not move. */
interface HourlyScene {
  readonly server: Server;
  readonly decisions: Log<Decision>;
  /** The limiter behind it. */
  readonly limiter: Limiter;
  /** The delay of each request, in the order of the decisions. */
  readonly delays: () => readonly number[];
  /** The refunds to the store. */
  readonly refunds: Log<StoreRequest>;
  readonly remaining: () => Promise<number>;
  readonly visit: () => Promise<Visit>;
}

async function hourlyScene(
  suite: Suite,
  stores: SuiteStores,
  place: LimitPlace,
  { policy = hourly, ...options }: { readonly policy?: Policy | readonly Policy[]; readonly maxPaced?: number } = {},
): Promise<HourlyScene> {
  const [exactly, decisions] = [watched(stores.fresh(fakeClock())), new Log<Decision>()];
  const own = { name: 'pace', shared: true, policy, ...exactly };
  const limiter = createLimiter(own);
  const server = await suite.serve({ ...own, ...options, onDecision: decisions.add }, { place });
  return {
    server,
    limiter,
    decisions,
    delays: () => decisions.all.map(({ delayMs }) => delayMs),
    refunds: exactly.store.answered('refund'),
    remaining: async () => (await limiter.peek('127.0.0.1')).remaining,
    visit: async () => visitTo(await begin(server.port)),
  };
}

function visitTo(socket: Socket): Visit {
  let text = '';
  socket.on('error', () => {}); // the server may be closed first
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  return {
    status: () => statuses(text)[0],
    leave: async () => leave(socket),
  };
}

/** How far the clock of the Redis server is ahead of `performance.now()`, in milliseconds: at the most. */
async function serversLead({ redis }: Suite): Promise<number> {
  let lead = Infinity;
  for (let i = 0; i < 20; i++) {
    const sentMs = performance.now();
    const [seconds, micros] = await redis.admin.time();
    lead = Math.min(lead, Number(seconds) * 1000 + Number(micros) / 1000 - sentMs);
  }
  return lead;
}
