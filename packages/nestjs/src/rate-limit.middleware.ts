import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { answerHttp } from './rate-limit.exception.ts';
import { RateLimits } from './rate-limits.ts';
import { RawReply, type NodeResponse } from './raw-reply.ts';

/**
 * Applies the limit of the module before routing, to requests that guards never see, such as 404s and OPTIONS. The
 * guard does not count a request again. `@SkipRateLimit()` and `override` are unknown before routing: exclude such
 * routes with `exclude()`.
 *
 * @example
 * ```ts
 * consumer.apply(RateLimitMiddleware).forRoutes('{*path}');
 * ```
 */
export class RateLimitMiddleware implements NestMiddleware {
  static {
    Injectable()(this);
    Inject(RateLimits)(this, undefined, 0);
  }

  readonly #limits: RateLimits;

  constructor(limits: RateLimits) {
    this.#limits = limits;
  }

  async use(request: object, response: object, next: () => void): Promise<void> {
    const enforcer = this.#limits.middleware;
    if (enforcer !== undefined) {
      const reply = 'send' in response ? (response as NestResponse) : new RawReply(response as NodeResponse);
      const plan = await enforcer.enforce(request as NestRequest, reply);
      if (!(await answerHttp(plan, request as NestRequest, reply))) return;
    }
    next();
  }
}
