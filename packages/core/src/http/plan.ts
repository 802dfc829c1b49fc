import type { Want } from '../limiter/limits.ts';
import type { RateLimitInfo } from './framework.ts';
import type { HttpSettings, Refund } from './options.ts';
import type { Denial } from './response/denial.ts';
import type { Field } from './response/headers.ts';

/** The key of a request or, with several limits, a key for each limit by name. */
export type FoundKeys = string | Readonly<Record<string, string>>;

/** What a request takes from one limit, and when it is refunded. */
export interface HttpWant extends Want {
  readonly refund: Refund | undefined;
}

/** One request in one limiter: the steps fill it in, and then it holds what the limiter knows about the request. */
export interface Call {
  readonly by: object;
  /** The call of the limiter that saw the request before this one. */
  readonly before: Call | undefined;
  readonly request: object;
  readonly response: unknown;
  /** The response that the user's functions receive. */
  readonly argument: unknown;
  readonly wants: HttpWant[];
  /** The keys found so far, by the name of their limit. */
  readonly found: Record<string, string>;
  /** The settings of the innermost place that limits the request. */
  settings: HttpSettings;
  /** How long the request has waited for stores, for this limiter and earlier ones. */
  waitedMs: number;
  /** Undefined until the decision, or if no limit applies. */
  info: RateLimitInfo | undefined;
}

/** The additions to a response: header fields and, if the request is denied, status and body. */
export interface Plan {
  /** Header fields of the response, allowed or denied. */
  readonly fields: readonly Field[];
  /** Undefined if no limit applies to the request. */
  readonly info?: RateLimitInfo;
  /** Set if the request is denied: the response, unless `onDenied` sends another or `throw` turns it into an error. */
  readonly denial?: Denial | undefined;
  readonly settings?: HttpSettings;
  /** Whether the client left while its request waited: no response is sent. */
  readonly isGone?: boolean;
}

/** A request that continues, without header fields. */
export const PASS: Plan = { fields: [] };
export const GONE: Plan = { fields: [], isGone: true };

export function denied(denial: Denial, settings: HttpSettings): Plan {
  return { fields: [], denial, settings };
}

export const LATEST: unique symbol = Symbol('latest call');

/** Where a framework keeps data about a request. */
export interface Locals {
  [LATEST]?: Call;
}

/** The call of a limiter for a request; undefined if it has not seen the request. */
export function findCall(latest: Call | undefined, by: object): Call | undefined {
  let call = latest;
  while (call !== undefined && call.by !== by) call = call.before;
  return call;
}
