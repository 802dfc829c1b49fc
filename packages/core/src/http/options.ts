import type { Decision } from '../decision.ts';
import type { Duration } from '../duration.ts';
import type { LimiterCoreOptions } from '../core-options.ts';
import type { Limiter } from '../limiter.ts';
import type { ManagedReference } from '../managed/managed.ts';
import type { Policy } from '../policy.ts';
import type { HeadersOption } from './headers.ts';
import type { Key } from './keys/key-parts.ts';

/** What happens to a request that has no key: 403, no limit, or one budget for all of them. */
export type OnMissingKey = 'deny' | 'skip' | 'shared';

type MaybePromise<T> = T | Promise<T>;

/**
 * A policy, several of which all must admit, or a function that picks them for a request: those are named, and
 * different names never share state.
 */
export type PolicyOption<Request> =
  | Policy
  | readonly Policy[]
  | ManagedReference
  | ((request: Request) => MaybePromise<Policy | readonly Policy[] | ManagedReference>);

/** The keys of a request by the name of their limit; one that is left out leaves its limit out. */
export type KeyByLimit = Readonly<Record<string, string | undefined>>;

interface PerLimitOptions<Request> {
  /** What is limited. Default `byIp()`. */
  key?: Key<Request> | undefined;
  /**
   * Units that a request takes: a whole number, or a function that says so. A function that answers 0 leaves this limit
   * out. Default 1.
   */
  cost?: number | ((request: Request) => MaybePromise<number>) | undefined;
  /** Default `deny`; among `limits`, `skip` for `byUser()` and `byHeader()`. */
  onMissingKey?: OnMissingKey | undefined;
}

/** One of several limits with a key each, decided together. */
export interface HttpLimitOptions<Request> extends PerLimitOptions<Request> {
  readonly name: string;
  /** The function's policies are named: different names never share state. */
  readonly policy: Policy | ManagedReference | ((request: Request) => MaybePromise<Policy | ManagedReference>);
}

/**
 * Which answers give their units back: those below 400, those from 400 on, or those for which a function says true.
 */
export type RefundWhen<Request, Response> =
  'on-success' | 'on-failure' | ((request: Request, response: Response) => MaybePromise<boolean>);

/** {@link RefundWhen}, with what those do that come while units are taken which may be given back. */
export interface RefundOptions<Request, Response> {
  readonly when: RefundWhen<Request, Response>;
  /**
   * How long a request that would be refused waits for others to give their units back, in turn, in whole milliseconds.
   * Default 0: it is refused at once. Another process's refunds are noticed within 100 ms.
   */
  readonly holdMs?: number;
}

interface SharedOptions<Request, Response> {
  /** Requests that are not limited at all. */
  skip?: ((request: Request) => MaybePromise<boolean>) | undefined;
  /** Clients that are not limited: addresses, CIDR ranges, or whole keys. */
  allow?: readonly string[] | undefined;
  /** Clients that are answered 403: addresses, CIDR ranges, or whole keys. Stands above `allow`. */
  deny?: readonly string[] | undefined;
  /** `report` decides, counts and tells `onDecision`, but refuses nobody and sends no fields. Default `enforce`. */
  mode?: 'enforce' | 'report' | undefined;
  /** Default `draft-11`. */
  headers?: HeadersOption | undefined;
  /** Adds the fields to Access-Control-Expose-Headers where the answer allows an origin. Default false. */
  cors?: boolean | undefined;
  /**
   * Gives the units back once the answer is known: units are taken first, so that of many at once no more than the limit
   * run together. An aborted answer gives nothing back.
   */
  refund?: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined;
  /**
   * Requests at most that are held at once, in this process, until a `leakyBucket` lets them start: one more is refused. A
   * whole number; 0 holds nobody. Default 1000.
   */
  maxHeld?: number | undefined;
  /**
   * What `Retry-After` says where only slots of a `concurrency` policy are wanting: nobody knows when one is released, so
   * by default such a refusal has none.
   */
  retryAfter?: Duration | undefined;
  /** Answers a refused request itself; status and header fields have been set. */
  onDenied?: ((request: Request, response: Response, decision: Decision) => unknown) | undefined;
  /** Told of every decision: for logs and metrics. It is waited for, and what it throws is the request's error. */
  onDecision?:
    | ((
        decision: Decision,
        context: { readonly key: string | Readonly<Record<string, string>>; readonly request: Request },
      ) => unknown)
    | undefined;
  /**
   * Hands a refusal to the framework's error handler, as an error with status, code and headers, instead of answering.
   */
  throw?: boolean | undefined;
}

/** Three ways to say what the limit of a single key is. */
type OneKey<Request, NoLimits> =
  | (LimiterCoreOptions &
      PerLimitOptions<Request> & {
        limit: number;
        window: Duration;
        policy?: never;
        limits?: NoLimits;
        limiter?: never;
      })
  | (LimiterCoreOptions &
      PerLimitOptions<Request> & {
        policy: PolicyOption<Request>;
        limit?: never;
        window?: never;
        limits?: NoLimits;
        limiter?: never;
      })
  | ({ [Name in keyof LimiterCoreOptions]?: never } & PerLimitOptions<Request> & {
        /** A limiter made before: it counts together with whoever else uses it. */
        limiter: Limiter;
        limit?: never;
        window?: never;
        policy?: never;
        limits?: NoLimits;
      });

interface KeyEach<Request> extends LimiterCoreOptions {
  limits: readonly HttpLimitOptions<Request>[];
  limit?: never;
  window?: never;
  policy?: never;
  limiter?: never;
  key?: never;
  /** For the entries that say none. */
  cost?: number | ((request: Request) => MaybePromise<number>);
  onMissingKey?: never;
}

/**
 * The options of every adapter, which are the same everywhere but for the type of the request. Four ways to say what the
 * limit is: `limit` and `window` (a sliding window), `policy`, `limits` with a key each, or a `limiter` made before.
 */
export type RateLimitOptions<Request, Response> = SharedOptions<Request, Response> &
  (OneKey<Request, never> | KeyEach<Request>);

/** An entry that nothing is: functions in it are typed all the same, while TypeScript looks for the right signature. */
type NoEntry<Request> = HttpLimitOptions<Request> & { readonly name: never };

/** {@link RateLimitOptions} with a single key. */
export type OneKeyOptions<Request, Response> = SharedOptions<Request, Response> &
  OneKey<Request, readonly NoEntry<Request>[]>;

/** {@link RateLimitOptions} with a key per limit. */
export type KeyEachOptions<Request, Response> = SharedOptions<Request, Response> & KeyEach<Request>;

export const PER_LIMIT_OPTIONS: readonly string[] = ['key', 'cost', 'onMissingKey'];
export const HTTP_OPTIONS: readonly string[] = [
  ...['limit', 'window', 'policy', 'limits', 'limiter', 'skip', 'allow', 'deny', 'mode', 'headers', 'cors', 'refund'],
  ...['maxHeld', 'retryAfter', 'onDenied', 'onDecision', 'throw'],
  ...PER_LIMIT_OPTIONS,
];

/** Options with a name made of a place in the code, unless they say another. A limiter that is handed in has its own. */
export function namedByPlace<Options extends { limiter?: unknown; name?: string | undefined }>(
  options: Options,
  place: string,
): Options {
  return options.limiter === undefined ? { ...options, name: options.name ?? place } : options;
}
