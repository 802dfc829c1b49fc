import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { warnOnce } from '@sluice/core/http';
import { infoOf, record, type NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { RateLimitException, answerHttp } from './rate-limit.exception.ts';
import { RateLimits } from './rate-limits.ts';

/**
 * Limits the handlers of controllers, resolvers and gateways. The module registers it for the whole application, unless
 * the application registers one of its own, which may extend this one: each method below can be overridden.
 */
export class RateLimitGuard implements CanActivate {
  // By call, so that no build needs decorators or their metadata.
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
        `RateLimitGuard does not know what a request is in a context of type ${type}, so nothing is limited there. ` +
          'Extend it with a requestOf(context) that answers one, or with a shouldSkip(context) if nothing is to be limited.',
        type,
      );
      return true;
    }
    const response = this.responseOf(context) as NestResponse;
    const enforcer = this.limits.enforcerFor(context);
    const before = infoOf(request);
    // Fastify's request is made after the middleware has run on Node's own.
    if (before !== undefined) record(request, before);
    if (enforcer === undefined) return true;
    const enforcement = await enforcer.enforce(request, response);
    if (context.getType() === 'http') {
      let goesOn: boolean;
      try {
        goesOn = await answerHttp(enforcement, request, response);
      } catch (error) {
        if (error instanceof RateLimitException) this.refuse(error, context);
        throw error;
      }
      // The answer is out. Whatever else the guard said, Nest would answer a second time: false and an exception are
      // handed to the filters. So it says nothing any more, and is forgotten together with the request.
      return goesOn ? true : new Promise<never>(() => undefined);
    }
    const { fields, info, refusal, hasLeft } = enforcement;
    if (hasLeft === true) return new Promise<never>(() => undefined); // nobody is left to be answered
    if (info !== undefined) record(request, info);
    if (refusal !== undefined) {
      const headers = Object.fromEntries([...fields, ...refusal.fields].map(({ name, value }) => [name, value]));
      this.refuse(new RateLimitException(refusal, info?.decision, headers), context);
      return false; // whatever an override does: a refused call goes no further
    }
    return true;
  }

  /**
   * The request to count. Undefined, as by default for all but HTTP, lets everything through.
   *
   * Elsewhere it is what has the address (`ip`, or a `socket`), `headers` and a `user`: for GraphQL over HTTP the request
   * in the context, for a WebSocket that of its handshake. Each execution counts, also of several on one request.
   */
  protected requestOf(context: ExecutionContext): NestRequest | undefined {
    return context.getType() === 'http' ? context.switchToHttp().getRequest<NestRequest>() : undefined;
  }

  /** The response to write on. For HTTP; elsewhere only `refund` asks for it, and without one gives nothing back. */
  protected responseOf(context: ExecutionContext): unknown {
    return context.getType() === 'http' ? context.switchToHttp().getResponse() : undefined;
  }

  /** Whether a call is not limited at all. Asked first, in every context. */
  protected shouldSkip(_context: ExecutionContext): boolean | Promise<boolean> {
    return false;
  }

  /**
   * Refuses by an exception: with `throw: true`, and outside of HTTP. To be overridden where another exception is wanted,
   * such as a `WsException`.
   */
  protected refuse(exception: RateLimitException, _context: ExecutionContext): never {
    throw exception;
  }
}
