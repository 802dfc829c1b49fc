import { afterEach, beforeAll } from '@jest/globals';
import { memoryStore, redisStore, silenceWarnings, type Clock, type Store } from '@sluice/old-core';
import { useRedis, type RunningRedis } from '../use-redis.ts';
import { virtualRedisStore } from '../virtual-redis.ts';
import type { AdapterUnderTest, App, Call, Handle, Limit, Route, RunningApp } from './adapter.ts';
import { send, type HttpAnswer, type HttpRequest } from './http-client.ts';
import { Log } from './log.ts';

/** Options for decisions by the store alone, even on a slow machine. */
export interface Exactly {
  readonly store: Store;
  readonly onStoreError: 'throw';
  readonly timeoutMs: number;
}

/** A kind of store that scenarios run on. */
export interface SuiteStores {
  readonly kind: 'memory' | 'Redis';
  /** An empty store with this clock, or in real time. */
  fresh(clock?: Clock): Exactly;
}

/** Where a limit is declared. */
export type LimitPlace = 'at the route' | 'application-wide';

export const PLACES: readonly LimitPlace[] = ['at the route', 'application-wide'];

/** Differences from the usual application: one route, `GET /items`, that responds with `hello`. */
export interface Served extends Omit<App, 'routes' | 'limits'> {
  /** Default `at the route`. */
  readonly place?: LimitPlace;
  readonly method?: Route['method'];
  readonly path?: string;
  readonly handle?: Handle;
  /** Routes beside the usual one, without limits of their own. Their calls are not recorded. */
  readonly more?: readonly Route[];
  readonly http2?: boolean;
}

export interface RecordedCall extends Call {
  readonly startedAtMs: number;
  /** The handlers of the route that ran when it began, itself included. */
  readonly running: number;
}

/** An application with one limited route, and its results. */
export interface Server {
  readonly port: number;
  readonly calls: Log<RecordedCall>;
  send(request?: HttpRequest): Promise<HttpAnswer>;
  /** Sends this many equal requests, one after the other; returns their statuses. */
  statuses(count: number, request?: HttpRequest): Promise<number[]>;
}

/** The settings of a scenario for an adapter. */
export interface Suite {
  readonly adapter: AdapterUnderTest;
  readonly stores: readonly [SuiteStores, SuiteStores];
  /** Each kind of store with each place. */
  readonly everywhere: readonly { readonly stores: SuiteStores; readonly kind: string; readonly place: LimitPlace }[];
  readonly redis: RunningRedis;
  /** A prefix of keys that no other scenario has. */
  prefix(): string;
  /** Starts an application, which stops when the test ends. */
  start(app: App, http2?: boolean): Promise<RunningApp>;
  /** Starts the usual application with this limit. */
  serve(limit: Limit, served?: Served): Promise<Server>;
  /** Runs this when the test ends, before its applications stop; the last one first. */
  atEnd(end: () => Promise<void>): void;
}

/**
 * Everything a scenario needs. Call it inside `describe`: it starts a Redis before the tests and stops it after them.
 */
export function suiteFor(adapter: AdapterUnderTest): Suite {
  const redis = useRedis();
  let prefixes = 0;
  const prefix = (): string => `sluice:a${String(prefixes++)}`;
  const exactly = (store: Store): Exactly => ({
    store: adapter.through?.(store) ?? store,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  const inRedis = (clock: Clock | undefined): Store =>
    clock === undefined
      ? redisStore(redis.client, { prefix: prefix() })
      : virtualRedisStore(redis.client, clock, { prefix: prefix() });
  const stores: readonly [SuiteStores, SuiteStores] = [
    { kind: 'memory', fresh: (clock) => exactly(memoryStore(clock === undefined ? {} : { clock })) },
    { kind: 'Redis', fresh: (clock) => exactly(inRedis(clock)) },
  ];

  beforeAll(() => {
    // Scenarios do these on purpose.
    silenceWarnings(
      'SLUICE_REFUND_FAILED',
      'SLUICE_REPORT_FAILED',
      'SLUICE_SLOT_TIMEOUT',
      'SLUICE_PROXY_NOT_TRUSTED',
      'SLUICE_POLICY_UNCONFIGURED',
    );
  });
  const ends: (() => Promise<void>)[] = [];
  const apps: RunningApp[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });
  const start = async (app: App, http2 = false): Promise<RunningApp> => {
    const running = await (http2 ? adapter.startHttp2?.(app) : adapter.start(app));
    if (running === undefined) throw new Error(`${adapter.name} does not speak HTTP/2`);
    apps.push(running);
    return running;
  };

  return {
    adapter,
    stores,
    everywhere: stores.flatMap((kind) => PLACES.map((place) => ({ stores: kind, kind: kind.kind, place }))),
    redis,
    prefix,
    start,
    async serve(limit, served = {}) {
      const { place = 'at the route', method = 'GET', path = '/items', handle, more = [], http2, ...rest } = served;
      const calls = new Log<RecordedCall>();
      const route: Route = { method, path, handle: recording(handle ?? (() => ({ body: 'hello' })), calls) };
      const app: App =
        place === 'at the route'
          ? { ...rest, routes: [{ ...route, limit }, ...more] }
          : { ...rest, limits: [limit], routes: [route, ...more] };
      const { port } = await start(app, http2);
      const sendTo = (request: HttpRequest = {}): Promise<HttpAnswer> => send(port, { method, path, ...request });
      return {
        port,
        calls,
        send: sendTo,
        async statuses(count, request) {
          const statuses: number[] = [];
          for (let i = 0; i < count; i++) statuses.push((await sendTo(request)).status);
          return statuses;
        },
      };
    },
    atEnd: (end) => void ends.push(end),
  };
}

function recording(handle: Handle, calls: Log<RecordedCall>): Handle {
  let running = 0;
  return async (call) => {
    running++;
    calls.add({ ...call, startedAtMs: performance.now(), running });
    try {
      return await handle(call);
    } finally {
      running--;
    }
  };
}
