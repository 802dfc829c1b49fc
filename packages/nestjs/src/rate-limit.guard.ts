import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { warnOnce } from '@sluice/old-core/spi';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { RateLimitException, answerHttp } from './rate-limit.exception.ts';
import { RateLimits } from './rate-limits.ts';

/**
 * Limits the handlers of controllers. The module registers it for the whole application, unless the application registers
 * a guard of its own, which may extend this one and override each method below.
 */
export class RateLimitGuard implements CanActivate {
  // Called as functions, so that no build needs decorators or their metadata.
  static {
    Injectable()(this);
    Inject(RateLimits)(this, undefined, 0);
  }

  /** All limits of the application. */
  protected readonly limits: RateLimits;

  constructor(limits: RateLimits) {
    this.limits = limits;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (await this.shouldSkip(context)) return true;
    const enforcer = this.limits.enforcerFor(context);
    if (enforcer === undefined) return true;
    const type = context.getType<string>();
    if (type !== 'http') {
      warnOnce(
        'SLUICE_CONTEXT_UNKNOWN',
        `RateLimitGuard limits HTTP requests alone, and lets every call of a context of type ${type} pass. ` +
          'Count there with createLimiter in the handler, and write @SkipRateLimit() on it, or extend the guard with a shouldSkip(context) that returns true.',
        type,
      );
      return true;
    }
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<NestRequest>(), http.getResponse<NestResponse>()];
    const plan = await enforcer.enforce(request, response);
    let continues: boolean;
    try {
      continues = await answerHttp(plan, request, response);
    } catch (error) {
      if (error instanceof RateLimitException) this.deny(error, context);
      throw error;
    }
    // The response is sent. If the guard returned false or threw, Nest's exception filters would respond again. So
    // the promise never settles, and is collected together with the request.
    return continues ? true : new Promise<never>(() => undefined);
  }

  /** Whether a call is not limited at all. Called first, in every context. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /** Denies with an exception, with `throw: true`. Override it to throw another exception. */
  protected deny(exception: RateLimitException, _context: ExecutionContext): never {
    throw exception;
  }
}
