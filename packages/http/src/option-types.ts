import type { Decision, Duration, LimiterCoreOptions, Limiter, ManagedReference, Policy } from '@sluice/core';
import type { DenialStatuses } from './response/denial.ts';
import type { HeadersOption } from './response/headers.ts';
import type { Key } from './keys/key-parts.ts';

/** What happens to a request that has no key: 403, no limit, or one budget for all of them. */
export type OnMissingKey = 'deny' | 'skip' | 'shared';

type MaybePromise<T> = T | Promise<T>;
/** A function of the request and its response, which is undefined where none is at hand, as in `keyFor(request)`. */
type OfRequest<Request, Response, T> = (request: Request, response: Response | undefined) => MaybePromise<T>;

/**
 * A policy; several policies, all of which must allow; or a function that picks them for a request. The policies of a
 * function need names: different names never share state.
 */
export type PolicyOption<Request, Response = unknown> =
  | Policy
  | readonly Policy[]
  | ManagedReference
  | OfRequest<Request, Response, Policy | readonly Policy[] | ManagedReference>;

/** The keys of a request by the name of their limit. A limit without a key is left out. */
export type KeyByLimit = Readonly<Record<string, string | undefined>>;

export interface PerLimitOptions<Request, Response = unknown> {
  /** What is limited. Default `byIp()`. */
  key?: Key<Request, Response> | undefined;
  /**
   * Units that a request takes: a whole number, or a function that returns one. If the function returns 0, this limit
   * is left out. Default 1.
   */
  cost?: number | OfRequest<Request, Response, number> | undefined;
  /** Default `deny`; among `limits`, `skip` for `byUser()` and `byHeader()`. */
  onMissingKey?: OnMissingKey | undefined;
}

/** One of several limits, each with its own key, that are decided together. */
export interface HttpLimitOptions<Request, Response = unknown> extends PerLimitOptions<Request, Response> {
  readonly name: string;
  /** The policies of a function need names: different names never share state. */
  readonly policy: Policy | ManagedReference | OfRequest<Request, Response, Policy | ManagedReference>;
}

/**
 * Which responses give their units back: status below 400, status 400 and above, or those for which a function
 * returns true.
 */
export type RefundWhen<Request, Response> =
  'on-success' | 'on-failure' | ((request: Request, response: Response) => MaybePromise<boolean>);

/** {@link RefundWhen}, and whether it also judges responses that were cut off. */
export interface RefundOptions<Request, Response> {
  readonly when: RefundWhen<Request, Response>;
  /**
   * Whether `when` also judges responses that were cut off, or whose client left before them: as failures, or by its
   * function. Default false: they give nothing back.
   */
  readonly onAbort?: boolean;
}

/**
 * The options about requests and responses.
 *
 * @typeParam Early - What functions get as the response that are called before there is one: undefined in frameworks
 * whose handlers return it.
 */
export interface SharedOptions<Request, Response, Early = Response> {
  /** Requests that are not limited at all. */
  skip?: OfRequest<Request, Early, boolean> | undefined;
  /** Clients that are not limited: addresses, CIDR ranges, or whole keys. */
  allow?: readonly string[] | undefined;
  /** Clients that get 403: addresses, CIDR ranges, or whole keys. Takes precedence over `allow`. */
  deny?: readonly string[] | undefined;
  /**
   * `report` decides, counts and calls `onDecision`, but denies no request and sends no fields. Default `enforce`.
   */
  mode?: 'enforce' | 'report' | undefined;
  /** Default `draft-11`. */
  headers?: HeadersOption | undefined;
  /** Adds the fields to Access-Control-Expose-Headers if the response allows an origin. Default false. */
  cors?: boolean | undefined;
  /**
   * Gives units back when the response has ended. They are taken before, so concurrent requests cannot exceed the
   * limit. A response that is cut off gives nothing back, unless `onAbort` is true.
   */
  refund?: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined;
  /**
   * The most requests that this process holds at the same time until a `leakyBucket` lets them start. Further ones
   * are denied. A whole number; 0 holds none. Default 1000. A key that holds more than are free gets no other, so that
   * one client does not fill it; `byAll()` may.
   */
  maxPaced?: number | undefined;
  /**
   * `Retry-After` when only slots of a `concurrency` policy are missing. By default such a denial has none, because
   * the time of the next release is unknown.
   */
  retryAfter?: Duration | undefined;
  /**
   * The longest time that a request holds its `concurrency` slots, in whole milliseconds. Afterwards they are released
   * although the response goes on, with the warning `SLUICE_SLOT_TIMEOUT`. Default 600 000: ten minutes.
   */
  maxSlotMs?: number | undefined;
  /** Sends the response of a denied request. Status and header fields are set already. */
  onDenied?: ((request: Request, response: Early, decision: Decision) => unknown) | undefined;
  /** Called with every decision, for logs and metrics. It is awaited, and its error becomes the request's error. */
  onDecision?:
    | ((
        decision: Decision,
        context: {
          readonly key: string | Readonly<Record<string, string>>;
          readonly request: Request;
          readonly response: Early;
        },
      ) => unknown)
    | undefined;
  /** The statuses of denials, from 400 to 599. Default `{ denied: 429, blocked: 429, deny: 403, missingKey: 403 }`. */
  status?: Partial<DenialStatuses> | undefined;
  /**
   * CORS preflights. `separate` gives them budgets of their own: the same policies, by what of the keys preflights have,
   * else 600 a minute for each address. `count` counts them like other requests, `skip` lets them pass. Default `separate`.
   */
  preflights?: 'separate' | 'count' | 'skip' | undefined;
  /**
   * Passes a denial to the framework's error handler, as an error with status, code and headers, instead of sending a
   * response.
   */
  throw?: boolean | undefined;
}

/** Three ways to define the limit of a single key. */
type OneKey<Request, Response, NoLimits> =
  | (LimiterCoreOptions &
      PerLimitOptions<Request, Response> & {
        /** Units in any interval as long as the window: short for a `slidingWindow`. */
        limit: number;
        /** Units come back up to 10 % of it late: after 60 to 66 s for `'1m'`. `fixedWindow` and `slidingLog` give them back on time. */
        window: Duration;
        policy?: never;
        limits?: NoLimits;
        limiter?: never;
      })
  | (LimiterCoreOptions &
      PerLimitOptions<Request, Response> & {
        policy: PolicyOption<Request, Response>;
        limit?: never;
        window?: never;
        limits?: NoLimits;
        limiter?: never;
      })
  | ({ [Name in keyof LimiterCoreOptions]?: never } & PerLimitOptions<Request, Response> & {
        /** An existing limiter. All its users share its counts. */
        limiter: Limiter;
        limit?: never;
        window?: never;
        policy?: never;
        limits?: NoLimits;
      });

interface KeyEach<Request, Response> extends LimiterCoreOptions {
  limits: readonly HttpLimitOptions<Request, Response>[];
  limit?: never;
  window?: never;
  policy?: never;
  limiter?: never;
  key?: never;
  /** For the entries without a cost of their own. */
  cost?: number | OfRequest<Request, Response, number>;
  onMissingKey?: never;
}

/**
 * The options of every adapter, which differ only in the types of request and response. There are four ways to define
 * the limit: `limit` and `window` (a sliding window), `policy`, `limits` with a key each, or an existing `limiter`.
 */
export type RateLimitOptions<Request, Response, Early = Response> = SharedOptions<Request, Response, Early> &
  (OneKey<Request, Early, never> | KeyEach<Request, Early>);

/** An entry that no value matches. While TypeScript selects the overload, it still types the functions in entries. */
type NoEntry<Request, Response> = HttpLimitOptions<Request, Response> & { readonly name: never };

/** {@link RateLimitOptions} with a single key. */
export type OneKeyOptions<Request, Response, Early = Response> = SharedOptions<Request, Response, Early> &
  OneKey<Request, Early, readonly NoEntry<Request, Early>[]>;

/** {@link RateLimitOptions} with a key per limit. */
export type KeyEachOptions<Request, Response, Early = Response> = SharedOptions<Request, Response, Early> &
  KeyEach<Request, Early>;
