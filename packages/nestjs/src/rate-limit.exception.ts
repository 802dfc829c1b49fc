import { HttpException } from '@nestjs/common';
import type { Decision } from '@sluice/core';
import type { RateLimitError } from '@sluice/core/http';

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

  constructor({ status, message, body, decision, headers }: RateLimitError) {
    super(JSON.parse(body) as Record<string, unknown>, status);
    this.message = message;
    this.decision = decision;
    this.headers = headers;
  }
}
