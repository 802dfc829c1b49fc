import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { warnOnce } from '@sluice/core/spi';
import { framework } from './framework.ts';
import { infoOf, record, type NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { RateLimitException, answerHttp } from './rate-limit.exception.ts';
import { RateLimits } from './rate-limits.ts';

/**
 * Limits the handlers of controllers, resolvers and gateways. The module registers it for the whole application,
 * unless the application registers a guard of its own, which may extend this one and override each method below.
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
    const request = this.requestOf(context) as NestRequest | null | undefined;
    if (request === undefined || request === null) {
      const type = context.getType<string>();
      warnOnce(
        'SLUICE_CONTEXT_UNKNOWN',
        `RateLimitGuard cannot find the request in a context of type ${type}, so nothing is limited there. ` +
          'Extend it with a requestOf(context) that returns the request, or with a shouldSkip(context) that returns true.',
        type,
      );
      return true;
    }
    const response = this.responseOf(context) as NestResponse;
    const enforcer = this.limits.enforcerFor(context);
    const before = infoOf(request);
    // With Fastify, the middleware stored it on Node's own request, before Fastify's request existed.
    if (before !== undefined) record(request, before);
    if (enforcer === undefined) return true;
    const plan = await enforcer.enforce(request, response);
    if (context.getType() === 'http') {
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
    const { fields, info, denial, isGone } = plan;
    if (isGone === true) return new Promise<never>(() => undefined); // the client left, and no response is possible
    if (info !== undefined) framework.record(request, info);
    if (denial !== undefined) {
      const headers = Object.fromEntries([...fields, ...denial.fields].map(({ name, value }) => [name, value]));
      this.deny(new RateLimitException(denial, info?.decision, headers), context);
      return false; // a denied call stops here, even if an override of deny() does not throw
    }
    return true;
  }

  /**
   * The request to count. Undefined, the default for contexts other than HTTP, means no limit.
   *
   * For other contexts, return the object with the address (`ip`, or a `socket`), `headers` and `user`: for GraphQL
   * over HTTP the request in the context, for a WebSocket that of its handshake. Each execution counts, even several
   * on one request.
   */
  protected requestOf(context: ExecutionContext): NestRequest | undefined {
    return context.getType() === 'http' ? context.switchToHttp().getRequest<NestRequest>() : undefined;
  }

  /** The response to write to, for HTTP. In other contexts only `refund` and slots use it, and need it. */
  protected responseOf(context: ExecutionContext): unknown {
    return context.getType() === 'http' ? context.switchToHttp().getResponse() : undefined;
  }

  /** Whether a call is not limited at all. Called first, in every context. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Denies with an exception: with `throw: true`, and in contexts other than HTTP. Override it to throw another
   * exception, such as a `WsException`.
   */
  protected deny(exception: RateLimitException, _context: ExecutionContext): never {
    throw exception;
  }
}
