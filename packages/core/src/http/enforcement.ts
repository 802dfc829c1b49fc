import type { RateLimitInfo } from './framework.ts';
import type { Field } from './headers.ts';
import type { Layer } from './layer.ts';
import type { RateLimitOptions } from './options.ts';
import { refusalOf, type Refusal } from './problem.ts';

/** What is to be done with a request. */
export interface Enforcement<Request, Response> {
  /** Header fields of the answer, whoever writes it. */
  readonly fields: readonly Field[];
  /** Undefined when the request was not limited. */
  readonly info: RateLimitInfo | undefined;
  /** Set when the request is refused: the answer to give, unless `onDenied` gives it or `throw` makes an error of it. */
  readonly refusal: Refusal | undefined;
  /** Those that say how to answer. */
  readonly options?: RateLimitOptions<Request, Response>;
  /** The client has left while it waited: nobody is to be answered. */
  readonly hasLeft?: boolean;
}

/** Of a request that goes on, and that nothing is told of. */
export const PASS: Pick<Enforcement<never, never>, 'info' | 'fields' | 'refusal'> = {
  fields: [],
  info: undefined,
  refusal: undefined,
};
const GONE = { ...PASS, hasLeft: true };

/** What came of a decision; `left` when the client has left meanwhile, nothing when nothing was asked for. */
export type Decided = RateLimitInfo | 'left' | undefined;

/** Of a request that nothing was decided about: its layer lets it pass, or refuses it. */
export function withoutDecision<Request, Response>(
  { options }: Layer<Request, Response>,
  refusal: Refusal | undefined,
): Enforcement<Request, Response> {
  return refusal === undefined ? PASS : { ...PASS, refusal, options };
}

/** @param layer - The innermost that enforces; none where the decision is a report. */
export function enforcementOf<Request, Response>(
  info: Decided,
  layer: Layer<Request, Response> | undefined,
): Enforcement<Request, Response> {
  if (info === 'left') return GONE;
  if (info === undefined || layer === undefined) return { ...PASS, info };
  const { decision } = info;
  return {
    fields: decision.policies.length === 0 ? PASS.fields : layer.writeFields(decision),
    info,
    refusal: decision.allowed ? undefined : refusalOf(decision, layer.slotRetryAfterMs),
    options: layer.options,
  };
}
