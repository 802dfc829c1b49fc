import type { Duration, LimiterCoreOptions, Limiter, LimitReference, Policy } from '@sluice/old-core';
import type { OfRequest, PerLimitOptions, SharedOptions } from './options.ts';

/**
 * A policy; several policies, all of which must allow; or a function that picks them for a request. The policies of a
 * function need names: different names never share state.
 */
export type PolicyOption<Request, Response = unknown> =
  | Policy
  | readonly Policy[]
  | LimitReference
  | OfRequest<Request, Response, Policy | readonly Policy[] | LimitReference>;

/** The keys of a request by the name of their limit. A limit without a key is left out. */
export type KeyByLimit = Readonly<Record<string, string | undefined>>;

/** One of several limits, each with its own key, that are decided together. */
export interface HttpLimitOptions<Request, Response = unknown> extends PerLimitOptions<Request, Response> {
  readonly name: string;
  /** The policies of a function need names: different names never share state. */
  readonly policy: Policy | LimitReference | OfRequest<Request, Response, Policy | LimitReference>;
}

/** Three ways to define the limit of a single key. */
type OneKey<Request, Response, NoLimits> =
  | (LimiterCoreOptions &
      PerLimitOptions<Request, Response> & {
        /** Units in any interval as long as the window: short for a `slidingWindow`. */
        limit: number;
        /** A client that is quiet for a window has its whole limit back, and no wait is longer. */
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
