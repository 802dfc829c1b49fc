import { PolicyError, type Decision, type Limiter } from '@sluice/old-core';
import type { KeyByLimit, RateLimitInfo } from '@sluice/old-http';
import { answer, withLimiter } from '@sluice/old-http/spi';
import { send } from './conclude.ts';
import { denialOf } from './denial.ts';
import { Exchange } from './exchange.ts';
import { checkRequest, handlerWith, type Handler } from './handle.ts';
import { kindOf } from './kind-of.ts';
import { parse, type KeyEach, type OneKey, type RateLimitOptions } from './options.ts';

declare global {
  interface Request {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit?: RateLimitInfo;
  }
}

/** The result of {@link RateLimit.check}: the response of a denied request, or the fields of the response to come. */
export type Checked =
  | {
      /** The finished denial: send it. */
      readonly response: Response;
      readonly headers?: undefined;
      /** Undefined if no decision was needed: the client is on a `deny` list, or the request has no key. */
      readonly decision: Decision | undefined;
    }
  | {
      readonly response?: undefined;
      /** To be appended to the response. Empty for a request that no limit applies to. */
      readonly headers: Headers;
      /** Undefined if no limit applies to the request. */
      readonly decision: Decision | undefined;
    };

type Handled<Result> = Awaited<Result> | Response | Promise<Awaited<Result> | Response>;

/**
 * Limits of fetch handlers. `Key` is a string or, with several limits, an object with a key per limit. Its functions
 * may be called without it. `context` is what the server passes beside a request, where the option `address` needs it.
 */
export interface RateLimit<Key = string, Req extends Request = Request> {
  /**
   * A handler with these limits: calls the given one with the same arguments, unless the request is denied. All that
   * the response has stays, and fields that the handler has set itself too. Promises are returned only where the
   * decision or the handler returns one.
   *
   * A handler inside another one, for the same `Request`, counts a limiter once, and its fields are in one list.
   *
   * @throws (or rejects with) errors of the handler and of the functions in options; RateLimitError for a denial, with
   * `throw: true`.
   */
  handle<Args extends readonly [Req, ...unknown[]], Result>(
    handler: (...args: Args) => Result,
  ): (...args: Args) => Handled<Result>;
  /**
   * Decides about a request whose response is made elsewhere, as in middleware of Next.js. Every call counts, but not
   * inside of a handler that this limiter has counted.
   *
   * @throws (rejects) as `handle` does; TypeError `SLUICE_ACQUIRE_NEEDED` for a `concurrency` policy, and
   * `SLUICE_OPTION_INVALID` with the option `refund`: both follow the response, which only `handle` sees.
   */
  check(request: Req, ...context: readonly unknown[]): Promise<Checked>;
  /** The limiter behind it. @throws PolicyError if a function picks the policy: see `limiterFor`. */
  readonly limiter: Limiter<Key>;
  /** The request's key or keys. @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key. */
  keyFor(request: Req, ...context: readonly unknown[]): Promise<Key>;
  /** The limiter of a request, also if a function picks the policy. @throws (rejects) errors of that function. */
  limiterFor(request: Req, ...context: readonly unknown[]): Promise<Limiter<Key>>;
}

/**
 * Limits for fetch handlers: `Request` in, `Response` out. A request over the limit gets 429. When the store fails,
 * `onStoreError` decides.
 *
 * @example
 * ```ts
 * const limit = rateLimit({ limit: 100, window: '1m', address: fromDeno });
 * Deno.serve(limit.handle((request) => new Response('hello')));
 * ```
 *
 * Functions in options get a `Request`, or that of a framework: `rateLimit<NextRequest>(options)`.
 *
 * @throws PolicyError for bad or unknown options, and for a key by address without the option `address`.
 */
export function rateLimit(options: OneKey<Request>): RateLimit;
export function rateLimit(options: KeyEach<Request>): RateLimit<KeyByLimit>;
export function rateLimit<Req extends Request>(options: OneKey<Req>): RateLimit<string, Req>;
export function rateLimit<Req extends Request>(options: KeyEach<Req>): RateLimit<KeyByLimit, Req>;
export function rateLimit<Req extends Request = Request>(
  options: RateLimitOptions<Req>,
): RateLimit<string | KeyByLimit, Req>;
export function rateLimit(given: object): RateLimit<never> {
  const { enforcer, layer, framework, make } = parse(given as RateLimitOptions);
  const exposes = layer.settings.cors;
  const follows = layer.followsRequests;
  const keyed = withLimiter({}, layer);
  return {
    handle: ((handler: Handler) => {
      checkHandler(handler);
      return handlerWith(handler, { enforcer, make, exposes, follows });
    }) as RateLimit['handle'],
    async check(request, ...context) {
      if (layer.settings.refund !== undefined) throw needsHandle();
      checkRequest(request);
      const open = Exchange.of(request);
      const isInside = open?.isOpen === true;
      const exchange = isInside
        ? new Exchange(request, open.incoming, open.context, true)
        : Exchange.open(request, request, context, true);
      exchange.isOpen = false;
      exchange.exposes = exposes;
      if (follows) exchange.watch();
      const plan = await enforcer.enforce(request, exchange);
      const decision = (plan.info ?? (isInside ? request.rateLimit : undefined))?.decision;
      if (await answer(framework, plan, request, exchange)) {
        return { headers: new Headers(exchange.fields), decision };
      }
      return { response: send(exchange, denialOf(exchange, make(request), true)), decision };
    },
    get limiter() {
      return layer.limiter;
    },
    async keyFor(request, ...context) {
      return keyed.keyFor(known(request, context));
    },
    async limiterFor(request, ...context) {
      return keyed.limiterFor(known(request, context));
    },
  };
}

function needsHandle(): PolicyError {
  return new PolicyError(
    'refund',
    'refund follows the response, which check(request) does not see; wrap the handler with handle(handler), or leave refund out',
    'SLUICE_OPTION_INVALID',
  );
}

/** The request, with the context that its address is read from. */
function known(request: Request, context: readonly unknown[]): Request {
  checkRequest(request);
  const exchange = Exchange.of(request);
  // One that was opened without the context knows no address.
  if (exchange === undefined || (exchange.context.length < context.length && !exchange.isOpen)) {
    Exchange.open(request, request, context).isOpen = false;
  }
  return request;
}

function checkHandler(handler: unknown): void {
  if (typeof handler === 'function') return;
  throw new PolicyError(
    'handler',
    `handle takes a fetch handler, a function of the request that returns a Response, got ${kindOf(handler)}; of an application, pass its function: handle((request) => app.fetch(request))`,
    'SLUICE_OPTION_INVALID',
  );
}
