import type {
  AppDescription,
  HandlerDescription,
  LimitDescription,
  RouteDescription,
} from '../adapter-target/descriptions.ts';
import type { AdapterRunner } from '../runner.ts';
import { useRedis, type SuiteRedis } from './contract-redis.ts';
import type { ContractOptions } from './contract-options.ts';
import type { ContractTarget } from './contract-target.ts';
import { store, type Named } from './described.ts';
import { Driver, type DrivenApp, type DrivenClock, type DrivenLimiter, type DrivenPolicies } from './driver.ts';
import { send, type HttpAnswer, type HttpRequest } from './http-client.ts';

/** Options for decisions by the store alone, even on a slow machine. */
export interface Exactly {
  readonly store: Named;
  readonly onStoreError: 'throw';
  readonly timeoutMs: number;
}

/** What a store of a scenario may do beside storing: see `StoreDescription`. */
export interface StoreWatch {
  readonly watched?: boolean;
  readonly hold?: string;
  readonly asRedis?: boolean;
}

/** A kind of store that scenarios run on. */
export interface SuiteStores {
  readonly kind: 'memory' | 'Redis';
  /** An empty store with this clock, or in real time. */
  fresh(clock?: DrivenClock, watch?: StoreWatch): Exactly;
}

/** Where a limit is declared. */
export type LimitPlace = 'at the route' | 'application-wide';

export const PLACES: readonly LimitPlace[] = ['at the route', 'application-wide'];

/** Differences from the usual application: one route, `GET /items`, that responds with `hello`. */
export interface Served extends Omit<AppDescription, 'routes' | 'limits'> {
  /** Default `at the route`. */
  readonly place?: LimitPlace;
  readonly method?: RouteDescription['method'];
  readonly path?: string;
  readonly handle?: HandlerDescription;
  /** Routes beside the usual one, without limits of their own. Their calls are not recorded. */
  readonly more?: readonly RouteDescription[];
}

/** An application with one limited route, and its results. */
export interface Server extends DrivenApp {
  send(request?: HttpRequest): Promise<HttpAnswer>;
  /** Sends this many equal requests, one after the other; returns their statuses. */
  statuses(count: number, request?: HttpRequest): Promise<number[]>;
}

/** What a scenario needs to run against a target. */
export interface Suite {
  readonly target: ContractTarget;
  readonly stores: readonly [SuiteStores, SuiteStores];
  readonly redis: SuiteRedis;
  readonly driver: Driver;
  /** Of random explorations. */
  readonly seed: number;
  /** How many random cases are tried where `usual` are by default, at least one. */
  cases(usual: number): number;
  clock(atMs?: number): DrivenClock;
  limiter(options: LimitDescription): Promise<DrivenLimiter>;
  policies(): DrivenPolicies;
  /** Starts an application, which stops when the test ends. */
  start(app: AppDescription, how?: { readonly http2?: boolean }): Promise<DrivenApp>;
  /** Starts the usual application with this limit. */
  serve(limit: LimitDescription, served?: Served): Promise<Server>;
  /** Runs this when the test ends, before its applications stop; the last one first. */
  atEnd(end: () => Promise<void>): void;
}

/** The id of a described store, whose lists a driver reads. */
export function idOf(described: Named): string {
  return described['id'] as string;
}

/** Warnings of scenarios that do on purpose what the warnings are about. */
const SILENCED = [
  'SLUICE_REFUND_FAILED',
  'SLUICE_REPORT_FAILED',
  'SLUICE_SLOT_TIMEOUT',
  'SLUICE_PROXY_NOT_TRUSTED',
  'SLUICE_POLICY_UNCONFIGURED',
];

/**
 * Everything a scenario needs. Call it inside `describe`: it opens Redis and the target before the tests, and closes them after
 * them.
 */
export function suiteFor(
  target: ContractTarget,
  { redis: given, seed = 42, effort = 1 }: ContractOptions,
  { beforeAll, afterEach, afterAll }: AdapterRunner,
): Suite {
  const redis = useRedis(given, { beforeAll, afterAll });
  const driver = new Driver();
  const exactly = (described: Named): Exactly => ({ store: described, onStoreError: 'throw', timeoutMs: 60_000 });
  const clocked = (clock: DrivenClock | undefined) => clock && { id: clock.id, atMs: clock.atMs };
  const stores: readonly [SuiteStores, SuiteStores] = [
    {
      kind: 'memory',
      fresh: (clock, watch) => exactly(store(driver.id('m'), { kind: 'memory', clock: clocked(clock), ...watch })),
    },
    {
      kind: 'Redis',
      fresh(clock, watch) {
        const id = driver.id('a');
        const where = { url: redis.url, prefix: redis.prefix(id) };
        return exactly(store(id, { kind: 'redis', ...where, clock: clocked(clock), ...watch }));
      },
    },
  ];

  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    driver.open(await target.open());
    await driver.ask({ do: 'silence', codes: SILENCED });
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await driver.ask({ do: 'end' });
  });
  afterAll(async () => driver.close());

  return {
    target,
    stores,
    redis,
    driver,
    seed,
    cases: (usual) => Math.max(Math.round(usual * effort), 1),
    clock: (atMs) => driver.clock(atMs),
    limiter: async (options) => driver.limiter(options),
    policies: () => driver.policies(),
    start: async (app, how) => driver.start(app, how),
    async serve(
      limit,
      { place = 'at the route', method = 'GET', path = '/items', handle = { body: 'hello' }, more = [], ...rest } = {},
    ) {
      const route: RouteDescription = { method, path, handle };
      const quiet = more.map((other) => ({ ...other, handle: { ...other.handle, quiet: true } }));
      const app = await driver.start(
        place === 'at the route'
          ? { ...rest, routes: [{ ...route, limit }, ...quiet] }
          : { ...rest, limits: [limit], routes: [route, ...quiet] },
      );
      const sendTo = (request: HttpRequest = {}): Promise<HttpAnswer> => send(app.port, { method, path, ...request });
      return {
        ...app,
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
