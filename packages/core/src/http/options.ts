import type { Decision } from '../decision.ts';
import type { Duration } from '../duration.ts';
import type { LimiterCoreOptions } from '../limiter-core.ts';
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
  Policy | readonly Policy[] | ((request: Request) => MaybePromise<Policy | readonly Policy[]>);

interface PerLimitOptions<Request> {
  /** What is limited. Default `byIp()`. */
  key?: Key<Request>;
  /**
   * Units that a request takes: a whole number, or a function that says so. A function that answers 0 leaves this limit
   * out. Default 1.
   */
  cost?: number | ((request: Request) => MaybePromise<number>);
  /** Default `deny`; among `limits`, `skip` for `byUser()` and `byHeader()`. */
  onMissingKey?: OnMissingKey;
}

/** One of several limits with a key each, decided together. */
export interface HttpLimitOptions<Request> extends PerLimitOptions<Request> {
  readonly name: string;
  readonly policy: Policy;
}

interface SharedOptions<Request, Response> extends LimiterCoreOptions {
  /** Requests that are not limited at all. */
  skip?: (request: Request) => MaybePromise<boolean>;
  /** Default `draft-11`. */
  headers?: HeadersOption;
  /** Answers a refused request itself; status and header fields have been set. */
  onDenied?: (request: Request, response: Response, decision: Decision) => unknown;
  /** Told of every decision: for logs and metrics. It is waited for, and what it throws is the request's error. */
  onDecision?: (
    decision: Decision,
    context: { readonly key: string | Readonly<Record<string, string>>; readonly request: Request },
  ) => unknown;
  /**
   * Hands a refusal to the framework's error handler, as an error with status, code and headers, instead of answering.
   */
  throw?: boolean;
}

/**
 * The options of every adapter. Three ways to say what the limit is: `limit` and `window` (a sliding window), `policy`,
 * or `limits`.
 */
export type RateLimitOptions<Request, Response> = SharedOptions<Request, Response> &
  (
    | (PerLimitOptions<Request> & { limit: number; window: Duration; policy?: never; limits?: never })
    | (PerLimitOptions<Request> & { policy: PolicyOption<Request>; limit?: never; window?: never; limits?: never })
    | {
        limits: readonly HttpLimitOptions<Request>[];
        limit?: never;
        window?: never;
        policy?: never;
        key?: never;
        cost?: number | ((request: Request) => MaybePromise<number>);
        onMissingKey?: never;
      }
  );

export const PER_LIMIT_OPTIONS: readonly string[] = ['key', 'cost', 'onMissingKey'];
export const HTTP_OPTIONS: readonly string[] = [
  ...['limit', 'window', 'policy', 'limits', 'skip', 'headers', 'onDenied', 'onDecision', 'throw'],
  ...PER_LIMIT_OPTIONS,
];
