import { HttpException } from '@nestjs/common';
import { RateLimitError, type ResponsePlan, type Denial } from '@sluice/old-http';
import type { Decision } from '@sluice/old-core';
import { answer } from '@sluice/old-http/spi';
import { framework } from './framework.ts';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';

/**
 * A denial as an exception, with `throw: true`: the response has the header fields already. `getResponse()` returns the
 * body, as problem details (RFC 9457).
 */
export class RateLimitException extends HttpException {
  readonly code = 'SLUICE_DENIED';
  /** Undefined without a decision: the request has no key, or its client is on a `deny` list. */
  readonly decision: Decision | undefined;
  /** The header fields of the denial. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(denial: Denial, decision: Decision | undefined, headers: Readonly<Record<string, string>>) {
    super(JSON.parse(denial.body) as Record<string, unknown>, denial.status);
    this.message = denial.reason;
    this.decision = decision;
    this.headers = headers;
  }
}

/**
 * Writes the response of a request that is denied. Resolves to whether the request continues.
 *
 * @throws (rejects) RateLimitException with `throw: true`, or when another response has begun; errors of `onDenied`.
 */
export async function answerHttp(
  plan: ResponsePlan<NestRequest, NestResponse>,
  request: NestRequest,
  response: NestResponse,
): Promise<boolean> {
  try {
    return await answer(framework, plan, request, response);
  } catch (error) {
    if (!(error instanceof RateLimitError) || plan.denial === undefined) throw error;
    throw new RateLimitException(plan.denial, error.decision, error.headers);
  }
}
