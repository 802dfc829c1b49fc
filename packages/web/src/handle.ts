import { mapMaybe, type Plan, type RequestLimiter } from '@sluice/core/http';
import { shown } from '@sluice/core/spi';
import { addFields } from './add-fields.ts';
import { deny, type Glue } from './deny.ts';
import type { Exchange } from './exchange.ts';
import type { Limits } from './options.ts';
import { isResponse } from './responses.ts';

/** Any fetch handler. */
export type Handler = (...args: readonly [Request, ...unknown[]]) => unknown;

/** A handler with limits. */
export function limitHandler(handler: Handler, { requests, glue, open }: Limits): Handler {
  return (request, ...context) => {
    checkRequest(request);
    return limitExchange(open(request, context, true), requests, glue, () => handler(request, ...context));
  };
}

/**
 * What a handler returns, with header fields, or the denial. A promise only if the decision or the handler returns one.
 *
 * @param add - Adds the fields to the response of the handler.
 */
export function limitExchange<Req extends object>(
  exchange: Exchange<Req>,
  requests: RequestLimiter,
  glue: Glue<Req>,
  handle: (plan: Plan) => unknown,
  add: typeof addFields = addFields,
): unknown {
  const { request } = exchange;
  if (requests.followsResponses) exchange.watch();
  const proceed = (plan: Plan): unknown => {
    if (plan.info !== undefined) glue.record(request, plan.info);
    if (plan.denial !== undefined || plan.isGone) return deny(exchange, plan, glue);
    return mapMaybe(handle(plan), (result) =>
      isResponse(result) ? add(result, plan.fields, plan.settings?.cors === true) : result,
    );
  };
  try {
    const ended = mapMaybe(mapMaybe(requests.plan(request, exchange), proceed), (result) => end(result, exchange));
    return ended instanceof Promise ? ended.catch((error: unknown) => fail(error, exchange)) : ended;
  } catch (error) {
    return fail(error, exchange);
  }
}

/** @throws TypeError for anything but a `Request`, such as a `node:http` request. */
export function checkRequest(request: unknown): void {
  if (typeof (request as Partial<Request> | null | undefined)?.headers?.get === 'function') return;
  throw new TypeError(
    `a fetch handler is called with a Request, got ${shown(request)}; for node:http handlers, use @sluice/express, @sluice/koa or @sluice/fastify`,
  );
}

function end(result: unknown, exchange: Exchange): unknown {
  exchange.leave();
  if (isResponse(result)) return exchange.endWith(result);
  exchange.endWith(new Response()); // Bun's handler has upgraded the request, or Hono's context is unfinished
  return result;
}

function fail(error: unknown, exchange: Exchange): never {
  exchange.leave();
  exchange.endWith(new Response(null, { status: 500 }));
  throw error;
}
