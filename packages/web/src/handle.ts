import { conclude, concludeWithout, send, statusOf } from './conclude.ts';
import { denialOf } from './denial.ts';
import { Exchange } from './exchange.ts';
import { isResponse } from './is-response.ts';
import { kindOf } from './kind-of.ts';
import type { Limits } from './options.ts';

/** Any fetch handler. */
export type Handler = (...args: readonly [Request, ...unknown[]]) => unknown;

type HandlerLimits = Pick<Limits, 'enforcer' | 'make'> & {
  /** Whether scripts of other origins may read the fields. */
  readonly exposes: boolean;
  /** Whether anything waits for the end of a response. */
  readonly follows: boolean;
};

/** A handler with limits. Without a promise, unless the decision or the handler returns one. */
export function handlerWith(handler: Handler, limits: HandlerLimits): Handler {
  let isChecked = false;
  return (request, ...context) => {
    if (!isChecked) checkRequest(request);
    isChecked = true; // a server passes requests of one kind
    const open = Exchange.of(request);
    const isOutermost = open?.isOpen !== true;
    const exchange = (isOutermost ? Exchange.open(request, request, context) : open) as Exchange<Request>;
    if (limits.exposes) exchange.exposes = true;
    if (limits.follows) exchange.watch();
    const call: Call = { handler, limits, exchange, isOutermost, context };
    let passes: boolean | Promise<boolean>;
    try {
      passes = limits.enforcer.limit(request, exchange);
    } catch (error) {
      return fail(call, error);
    }
    if (typeof passes === 'boolean') return proceed(call, passes);
    return passes.then(
      (late) => proceed(call, late),
      (error: unknown) => fail(call, error),
    );
  };
}

/** @throws TypeError for what is no `Request`, such as a request of `node:http`. */
export function checkRequest(request: unknown): void {
  if (typeof (request as Partial<Request> | null | undefined)?.headers?.get === 'function') return;
  throw new TypeError(
    `a fetch handler is called with a Request, got ${kindOf(request)}; for handlers of node:http take @sluice/express, @sluice/koa or @sluice/fastify`,
  );
}

/** One call of a limited handler. */
interface Call {
  readonly handler: Handler;
  readonly limits: HandlerLimits;
  readonly exchange: Exchange<Request>;
  /** Whether no other limited handler is around this one. The outermost one adds the fields of all. */
  readonly isOutermost: boolean;
  readonly context: readonly unknown[];
}

function proceed(call: Call, passes: boolean): unknown {
  const { handler, limits, exchange, isOutermost, context } = call;
  let result: unknown;
  try {
    if (!passes) {
      const denial = denialOf(exchange, limits.make(exchange.request), isOutermost);
      return isOutermost ? send(exchange, denial) : denial;
    }
    result = handler(exchange.request, ...context);
    if (!isOutermost) return result;
    if (!isThenable(result)) return end(call, result);
  } catch (error) {
    return fail(call, error);
  }
  return result.then(
    (late) => end(call, late),
    (error: unknown) => fail(call, error),
  );
}

function end({ exchange }: Call, result: unknown): unknown {
  if (isResponse(result)) return conclude(exchange, result);
  concludeWithout(exchange, 101); // nothing, from a handler of Bun that has upgraded the request
  return result;
}

function fail({ exchange, isOutermost }: Call, error: unknown): never {
  if (isOutermost) concludeWithout(exchange, statusOf(error));
  throw error;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}
