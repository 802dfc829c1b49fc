import type { RateLimitInfo, RawRequest } from './framework.ts';
import type { HttpSettings, Refund } from './options.ts';
import type { Limit, Want } from '../limiter/limits.ts';
import type { RequestMark } from './request-marks.ts';
import type { Denial } from './response/denial.ts';
import type { Field } from './response/headers.ts';

/** One request on its way through the steps. */
export interface Call {
  readonly request: object;
  readonly response: unknown;
  /** What functions of the user get as the response. */
  readonly argument: unknown;
  readonly raw: RawRequest;
  readonly mark: RequestMark;
  readonly wants: Want[];
  /** The keys that were found, by the name of their limit. With one key, its mark has that. */
  readonly keys: Record<string, string> | undefined;
  /** The option `refund` of each limit whose place has it. */
  readonly refunds: Map<Limit, Refund>;
  /** Those of the innermost place that limits the request. */
  settings: HttpSettings;
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
