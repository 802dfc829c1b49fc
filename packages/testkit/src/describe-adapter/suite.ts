import { afterEach } from '@jest/globals';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import type { FakeClock } from '../fake-clock.ts';
import { useRedis, type RunningRedis } from '../use-redis.ts';
import { virtualRedisStore } from '../virtual-redis.ts';
import { send, type HttpAnswer, type HttpRequest } from './http-client.ts';
import type { AdapterTarget, Answer, Call, RunningApp, SuiteApp, SuiteOptions, SuiteRoute } from './target.ts';

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
  fresh(clock?: FakeClock): Exactly;
}

/** Where a limit is declared. */
export type LimitPlace = 'at the route' | 'application-wide';

export const PLACES: readonly LimitPlace[] = ['at the route', 'application-wide'];

/** Differences from the usual application: one route, `GET /items`, that responds with `hello`. */
export interface Served extends Omit<SuiteApp, 'routes' | 'limits'> {
  /** Default `at the route`. */
  readonly place?: LimitPlace;
  readonly method?: SuiteRoute['method'];
  readonly path?: string;
  readonly handle?: (call: Call) => Answer | Promise<Answer>;
  /** Routes beside the usual one, without limits of their own. */
  readonly more?: readonly SuiteRoute[];
}

/** An application with one limited route, and its results. */
export interface Server {
  readonly port: number;
  send(request?: HttpRequest): Promise<HttpAnswer>;
  /** Sends this many equal requests, one after the other; returns their statuses. */
  statuses(count: number, request?: HttpRequest): Promise<number[]>;
  /** The calls of the usual route's handler. */
  readonly calls: readonly Call[];
}

/** What a scenario needs to run against a target. */
export interface Suite {
  readonly target: AdapterTarget;
  readonly stores: readonly SuiteStores[];
  readonly redis: RunningRedis;
  /** Starts an application, which stops when the test ends. */
  start(app: SuiteApp): Promise<RunningApp>;
  /** Starts the usual application with this limit. */
  serve(limit: SuiteOptions, served?: Served): Promise<Server>;
}

/**
 * Everything a scenario needs. Call it inside `describe`: it starts a Redis before the tests and stops it after them.
 */
export function suiteFor(target: AdapterTarget): Suite {
  const redis = useRedis();
  let prefixes = 0;
  const exactly = (store: Store): Exactly => ({
    store: target.through?.(store) ?? store,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  const stores: readonly SuiteStores[] = [
    { kind: 'memory', fresh: (clock) => exactly(memoryStore(clock === undefined ? {} : { clock })) },
    {
      kind: 'Redis',
      fresh(clock) {
        const prefix = `sluice:a${String(prefixes++)}`;
        return exactly(
          clock === undefined
            ? redisStore(redis.client, { prefix })
            : virtualRedisStore(redis.client, clock, { prefix }),
        );
      },
    },
  ];

  const running = new Set<RunningApp>();
  afterEach(async () => {
    await Promise.all([...running].map((app) => app.close()));
    running.clear();
  });
  const start = async (app: SuiteApp): Promise<RunningApp> => {
    const started = await target.start(app);
    running.add(started);
    return started;
  };

  return {
    target,
    stores,
    redis,
    start,
    async serve(limit, { place = 'at the route', method = 'GET', path = '/items', handle, more = [], ...rest } = {}) {
      const calls: Call[] = [];
      const route: SuiteRoute = {
        method,
        path,
        handle: (call) => {
          calls.push(call);
          return handle?.(call) ?? { body: 'hello' };
        },
      };
      const { port } = await start(
        place === 'at the route'
          ? { ...rest, routes: [{ ...route, limit }, ...more] }
          : { ...rest, limits: [limit], routes: [route, ...more] },
      );
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
  };
}
