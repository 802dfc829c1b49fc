import { memoryStore, redisStore, silenceWarnings, type SluiceWarningCode, type Store } from '@sluice/core';
import { fakeClock, type FakeClock } from '@sluice/core/testing';
import { send, type HttpAnswer } from '../http-client.ts';
import { useClosing } from '../use-closing.ts';
import { useRedis, type RunningRedis } from '../use-redis.ts';
import {
  header,
  numberIn,
  type AdapterUnderTest,
  type App,
  type Call,
  type Handle,
  type Limit,
  type Route,
} from './adapter.ts';
import type { Ask } from './ask.ts';
import { Log } from './log.ts';
import { answeringLater } from './stores.ts';

/**
 * Where a limit is declared, and where it counts: in memory, or in a store that answers later, as if over a network.
 */
export type Way = 'at the route' | 'application-wide, answered later' | 'over HTTP/2' | 'over Redis';

export const BOTH: readonly Way[] = ['at the route', 'application-wide, answered later'];
export const WAYS: readonly Way[] = [...BOTH, 'over HTTP/2'];
export const AT_THE_ROUTE: readonly Way[] = ['at the route'];
export const APPLICATION_WIDE: readonly Way[] = ['application-wide, answered later'];

/** A test of the contract. */
export interface Scene {
  /** A sentence about behaviour. */
  readonly title: string;
  /** The ways in which it is played, each as a test. */
  readonly ways: readonly Way[];
  readonly play: (stage: Stage) => Promise<void>;
}

export function scene(title: string, ways: readonly Way[], play: Scene['play']): Scene {
  return { title, ways, play };
}

/** Differences from the usual application: one route, `GET /items`, that answers `hello`. */
export interface Served extends Pick<App, 'before' | 'trustLoopback' | 'users' | 'methodOverride'> {
  readonly method?: Route['method'];
  readonly path?: string;
  readonly handle?: Handle;
  /** Further routes, without limits of their own: another method, another path. */
  readonly more?: readonly Partial<Pick<Route, 'method' | 'path'>>[];
  /** A limit of the application, around the route's. */
  readonly outer?: Limit;
}

export interface RecordedCall extends Call {
  readonly startedAtMs: number;
  /** The handlers that ran when it began, itself included. */
  readonly running: number;
  hasAnswered: boolean;
}

/** An application with one limit, and the calls of its handlers. */
export interface Server {
  readonly port: number;
  readonly calls: Log<RecordedCall>;
  send(ask?: Ask): Promise<HttpAnswer>;
  /** Sends this many equal requests, one after another. */
  statuses(count: number, ask?: Ask): Promise<number[]>;
}

/** The tools to play a scenario in one way. */
export interface Stage {
  readonly adapter: AdapterUnderTest;
  readonly way: Way;
  /** The clock of the stores, except of those over Redis. */
  readonly clock: FakeClock;
  readonly redis: RunningRedis;
  /** A new store, according to the way. */
  readonly store: () => Store;
  /** Starts the usual application with this limit until the scenario ends. By default it counts in a new store. */
  serve(limit: Limit, served?: Served): Promise<Server>;
  /** Runs when the scenario ends, before the applications stop that were served before; last in, first out. */
  atEnd(end: () => unknown): void;
}

/** Options for decisions by the store alone, even on a slow machine. */
export function exactly(store: Store): { store: Store; onStoreError: 'throw'; timeoutMs: number } {
  return { store, onStoreError: 'throw', timeoutMs: 60_000 };
}

/** The warnings that scenarios provoke. */
const PROVOKED: readonly SluiceWarningCode[] = [
  ...(['SLUICE_POLICY_UNCONFIGURED', 'SLUICE_PROXY_NOT_TRUSTED', 'SLUICE_REFUND_FAILED'] as const),
  ...(['SLUICE_REPORT_FAILED', 'SLUICE_SLOT_TIMEOUT', 'SLUICE_STORE_AWAY', 'SLUICE_UNIT_MISSING'] as const),
];

const usual: Handle = (call) => {
  if (header(call, 'x-throws') !== undefined) throw new Error('broken');
  return { status: numberIn(call, 'x-status', 200), body: 'hello' };
};

/** Logs the calls of a handler, and makes its answers show that it ran and what it received about the limit. */
function recording(handle: Handle, calls: Log<RecordedCall>): Handle {
  let running = 0;
  return async (call) => {
    running++;
    const { headers, rateLimit } = call;
    const recorded = { headers, rateLimit, startedAtMs: performance.now(), running, hasAnswered: false };
    calls.add(recorded);
    try {
      const answer = await handle(call);
      recorded.hasAnswered = true;
      return { ...answer, headers: { 'X-Handled': 'yes', ...tellLimit(call), ...answer.headers } };
    } finally {
      running--;
    }
  };
}

/** Outcome, remaining units, key. */
function tellLimit({ rateLimit }: Call): Record<string, string> {
  if (rateLimit === undefined) return {};
  const { key, decision } = rateLimit;
  const text = typeof key === 'string' ? key : JSON.stringify(key);
  return { 'X-Limit': `${decision.outcome} ${String(decision.remaining)} ${text.replace(/[^ -~]/g, '?')}` };
}

function makeApp(limit: Limit, served: Served, way: Way, calls: Log<RecordedCall>): App {
  const { method = 'GET', path = '/items', handle = usual, more = [], outer, ...rest } = served;
  const recorded = recording(handle, calls);
  const route: Route = { method, path, handle: recorded };
  const others = more.map((other) => ({ method, path, ...other, handle: recorded }));
  const around = outer === undefined ? [] : [outer];
  if (way === 'application-wide, answered later')
    return { ...rest, limits: [...around, limit], routes: [route, ...others] };
  return { ...rest, limits: around, routes: [{ ...route, limit }, ...others] };
}

/** Everything scenarios need. Call it inside `describe`: it starts a Redis before the tests and stops it after them. */
export function makeStages(adapter: AdapterUnderTest): (way: Way) => Stage {
  silenceWarnings(...PROVOKED);
  const redis = useRedis();
  let prefixes = 0;
  const closing = useClosing();

  return (way) => {
    const clock = fakeClock();
    const store = (): Store => {
      if (way === 'over Redis') return redisStore(redis.client, { prefix: `sluice:a${String(prefixes++)}` });
      const memory = memoryStore({ clock });
      return way === 'application-wide, answered later' ? answeringLater(memory) : memory;
    };
    return {
      ...{ adapter, way, clock, redis, store },
      atEnd: closing,
      async serve(given, served = {}) {
        const counted = exactly(store());
        const complete = (limit: Limit): Limit =>
          (limit.limiter ?? limit.store) === undefined ? { ...counted, ...limit } : limit;
        const calls = new Log<RecordedCall>();
        const outer = served.outer && { outer: complete(served.outer) };
        const app = makeApp(complete(given), { ...served, ...outer }, way, calls);
        const running = await (way === 'over HTTP/2' ? adapter.startHttp2?.(app) : adapter.start(app));
        if (running === undefined) throw new Error(`${adapter.name} does not speak HTTP/2`);
        closing(running);
        const usualAsk = { method: served.method ?? 'GET', path: served.path ?? '/items' };
        const sendTo = async (ask?: Ask): Promise<HttpAnswer> => send(running.port, { ...usualAsk, ...ask });
        return {
          ...{ port: running.port, calls, send: sendTo },
          async statuses(count, ask) {
            const statuses: number[] = [];
            for (let i = 0; i < count; i++) statuses.push((await sendTo(ask)).status);
            return statuses;
          },
        };
      },
    };
  };
}
