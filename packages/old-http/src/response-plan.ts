import type { RateLimitInfo } from './framework.ts';
import type { Field } from './response/headers.ts';
import type { Layer } from './layer.ts';
import type { HttpSettings } from './options.ts';
import { denialOf, type Denial } from './response/denial.ts';

/** The additions to a response: header fields and, if the request is denied, status and body. */
export interface ResponsePlan<Request, Response> {
  /** Header fields of the response, allowed or denied. */
  readonly fields: readonly Field[];
  /** Undefined when no limit applies to the request. */
  readonly info: RateLimitInfo | undefined;
  /**
   * Set when the request is denied: the response, unless `onDenied` sends another or `throw` turns it into an error.
   */
  readonly denial: Denial | undefined;
  /** The settings of the layer that formats the response. */
  readonly settings?: HttpSettings<Request, Response>;
  /** Whether the client left while its request waited: no response is sent. */
  readonly isGone?: boolean;
}

/** A request that continues, without header fields. */
export const PASS: Pick<ResponsePlan<never, never>, 'info' | 'fields' | 'denial'> = {
  fields: [],
  info: undefined,
  denial: undefined,
};
const GONE = { ...PASS, isGone: true };

/** The result of a decision: `gone` when the client left during it, undefined when no limit applies. */
export type Decided = RateLimitInfo | 'gone' | undefined;

/** The plan without a decision: the layer lets the request pass, or denies it. */
export function planWithoutDecision<Request, Response>(
  { settings }: Layer<Request, Response>,
  denial: Denial | undefined,
): ResponsePlan<Request, Response> {
  return denial === undefined ? PASS : { ...PASS, denial, settings };
}

/** @param layer - The innermost enforcing layer; undefined when the decision is only a report. */
export function planOf<Request, Response>(
  info: Decided,
  layer: Layer<Request, Response> | undefined,
): ResponsePlan<Request, Response> {
  if (info === 'gone') return GONE;
  if (info === undefined || layer === undefined) return { ...PASS, info };
  const { decision } = info;
  const { settings } = layer;
  return {
    fields: decision.policies.length === 0 ? PASS.fields : layer.writeFields(decision),
    info,
    denial: decision.allowed ? undefined : denialOf(decision, settings.retryAfter, settings.status),
    settings,
  };
}
