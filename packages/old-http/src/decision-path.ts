import { argumentOf, type RateLimitInfo, type RawRequest } from './framework.ts';
import type { Layer } from './layer.ts';
import type { ResponsePlan } from './response-plan.ts';

/**
 * How an enforcer decides about its requests: by the `SingleLimitPath` or the `GeneralPath`, chosen when it is made.
 */
export interface DecisionPath<Request, Response, Marks> {
  /** Marks a request as seen; undefined when every layer has seen it before. */
  mark(raw: RawRequest): Marks | undefined;
  /** Decides about a request that {@link mark} has just marked. */
  decide(
    marks: Marks,
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>>;
}

/** Calls the option `onDecision`; a promise that it returns has to be awaited. */
export function reportDecision<Request, Response>(
  { settings, framework }: Layer<Request, Response>,
  { key, decision }: RateLimitInfo,
  request: Request,
  response: Response,
): unknown {
  return settings.onDecision?.(decision, { key, request, response: argumentOf(framework, response) });
}
