import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { RateLimitError, mapMaybe } from '@sluice/core/http';
import { RateLimitException } from './rate-limit.exception.ts';
import { RateLimits } from './rate-limits.ts';

/**
 * Limits the handlers of controllers. The module registers it for the whole application, unless the application
 * registers its own guard, which may extend this one and override each method below.
 */
export class RateLimitGuard implements CanActivate {
  // Called as functions, so that the build needs neither decorators nor their metadata.
  static {
    Injectable()(this);
    Inject(RateLimits)(this, undefined, 0);
  }

  /** All limits of the application. */
  protected readonly limits: RateLimits;

  constructor(limits: RateLimits) {
    this.limits = limits;
  }

  /** Returns a promise only if the store or one of the user's functions is asynchronous. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return mapMaybe(this.shouldSkip(context), (skips) => skips || this.#limit(context));
  }

  /** Whether a call is not limited at all. Called first, in every context. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /** Denies with an exception, with `throw: true`. Override it to throw another exception. */
  protected deny(exception: RateLimitException, _context: ExecutionContext): never {
    throw exception;
  }

  #limit(context: ExecutionContext): boolean | Promise<boolean> {
    const fail = (error: unknown): never => {
      if (error instanceof RateLimitError) this.deny(new RateLimitException(error), context);
      throw error;
    };
    try {
      const passes = this.limits.limit(context);
      return passes instanceof Promise ? passes.then(passOrStay, fail) : passOrStay(passes);
    } catch (error) {
      return fail(error);
    }
  }
}

/**
 * The response of a denied request is sent. If the guard returned false or threw, Nest's exception filters would respond
 * again. So the promise never settles, and is collected together with the request.
 */
function passOrStay(passes: boolean): true | Promise<never> {
  return passes || new Promise<never>(() => undefined);
}
