import { HttpException } from '@nestjs/common';
import { RateLimitError, type Decision } from '@sluice/core';
import { answer, type Enforcement, type Refusal } from '@sluice/core/http';
import { httpFramework } from './framework.ts';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';

/**
 * A refusal as an exception: of `throw: true`, whose header fields stand on the response already, and of contexts that
 * have no HTTP response. `getResponse()` is the body, as problem details (RFC 9457).
 */
export class RateLimitException extends HttpException {
  readonly code = 'SLUICE_DENIED';
  /** Undefined when nothing was decided: the request had no key, or its client is on a `deny` list. */
  readonly decision: Decision | undefined;
  /** The header fields that tell the client what became of it. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(refusal: Refusal, decision: Decision | undefined, headers: Readonly<Record<string, string>>) {
    super(JSON.parse(refusal.body) as Record<string, unknown>, refusal.status);
    this.message = refusal.reason;
    this.decision = decision;
    this.headers = headers;
  }
}

/**
 * Answers an HTTP request that is refused. Resolves to whether it goes on.
 *
 * @throws (rejects) RateLimitException with `throw: true`, or when another answer has begun; what `onDenied` throws.
 */
export async function answerHttp(
  enforcement: Enforcement<NestRequest, NestResponse>,
  request: NestRequest,
  response: NestResponse,
): Promise<boolean> {
  try {
    return await answer(httpFramework, enforcement, request, response);
  } catch (error) {
    if (!(error instanceof RateLimitError) || enforcement.refusal === undefined) throw error;
    throw new RateLimitException(enforcement.refusal, error.decision, error.headers);
  }
}
