import type { RateLimitInfo } from './framework.ts';
import type { HttpSettings } from './options.ts';
import type { Denial } from './response/denial.ts';
import type { Field } from './response/headers.ts';

/** The additions to a response: header fields and, if the request is denied, status and body. */
export interface Plan<Request, Response> {
  /** Header fields of the response, allowed or denied. */
  readonly fields: readonly Field[];
  /** Undefined if no limit applies to the request. */
  readonly info: RateLimitInfo | undefined;
  /** Set if the request is denied: the response, unless `onDenied` sends another or `throw` turns it into an error. */
  readonly denial: Denial | undefined;
  readonly settings?: HttpSettings<Request, Response>;
  /** Whether the client left while its request waited: no response is sent. */
  readonly isGone: boolean;
}

type Bare = Pick<Plan<never, never>, 'fields' | 'info' | 'denial' | 'isGone'>;

/** A request that continues, without header fields. */
export const PASS: Bare = { fields: [], info: undefined, denial: undefined, isGone: false };
export const GONE: Bare = { ...PASS, isGone: true };
