import type { Decision } from '@sluice/core';
import type { Limited } from '@sluice/core/http';
import { shown, typeError } from '@sluice/core/spi';
import { withAddress, type AddressOption } from './addresses.ts';
import { deny } from './deny.ts';
import { Exchange } from './exchange.ts';
import { checkRequest, limitHandler, type Handler } from './handle.ts';
import { parse, type RateLimitOptions } from './options.ts';

/** The result of {@link RateLimit.check}: the response of a denied request, or the fields for the coming response. */
export type Checked =
  | {
      /** The complete denial: send it. */
      readonly response: Response;
      readonly headers?: undefined;
      /** Undefined if no decision was needed: the client is on a `deny` list, or the request has no key. */
      readonly decision: Decision | undefined;
    }
  | {
      readonly response?: undefined;
      /** Append them to the response. Empty for a request that no limit applies to. */
      readonly headers: Headers;
      /** Undefined if no limit applies to the request. */
      readonly decision: Decision | undefined;
    };

type Handled<Result> = Awaited<Result> | Response | Promise<Awaited<Result> | Response>;

/**
 * Limits of fetch handlers. Its functions need no `this`. `context` is what the server passes in addition to the
 * request, if the option `address` needs it.
 */
export interface RateLimit<Req extends Request = Request> extends Pick<Limited<Req>, 'limiter'> {
  /**
   * A handler with these limits: calls the given one with the same arguments, unless the request is denied. The rest of
   * the response stays as it is, including fields that the handler has set. Returns a promise only if the decision or
   * the handler returns one.
   *
   * For a handler inside another one, with the same `Request`, a limiter counts once, and the fields are in one list.
   *
   * @throws (or rejects with) errors of the handler and of the functions in options; RateLimitError for a denial, with
   * `throw: true`.
   */
  handle<Args extends readonly [Req, ...unknown[]], Result>(
    handler: (...args: Args) => Result,
  ): (...args: Args) => Handled<Result>;
  /**
   * Decides about a request whose response is made elsewhere, as in middleware of Next.js. Every call counts, except
   * inside a handler that this limiter has already counted: then there are neither fields nor a decision.
   *
   * @throws (rejects) as `handle` does; TypeError, `SLUICE_ACQUIRE_NEEDED` for a `concurrency` policy and
   * `SLUICE_OPTION_INVALID` with the option `refund`: both follow the response, which only `handle` sees.
   */
  check(request: Req, ...context: readonly unknown[]): Promise<Checked>;
  /** The request's key or keys. @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key. */
  keyFor<Key = string>(request: Req, ...context: readonly unknown[]): Promise<Key>;
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
 * Functions in options receive a `Request`, or a framework's request: `rateLimit<NextRequest>(options)`.
 *
 * @throws PolicyError for bad or unknown options, and for a key by address without the option `address`.
 */
export function rateLimit(options: RateLimitOptions): RateLimit;
export function rateLimit<Req extends Request>(options: RateLimitOptions<Req>): RateLimit<Req>;
export function rateLimit(given: object): RateLimit {
  const limits = parse(given as RateLimitOptions);
  const { requests, glue, open } = limits;
  return {
    handle: ((handler: Handler) => {
      if (typeof handler === 'function') return limitHandler(handler, limits);
      throw new TypeError(
        `handle takes a fetch handler, a function of the request that returns a Response, got ${shown(handler)}; for an application, pass a function: handle((request) => app.fetch(request))`,
      );
    }) as RateLimit['handle'],
    async check(request, ...context) {
      if (requests.settings.refund !== undefined) {
        throw typeError(
          'SLUICE_OPTION_INVALID',
          'refund follows the response, which check(request) does not see; wrap the handler with handle(handler), or leave refund out',
        );
      }
      checkRequest(request);
      const exchange = open(request, context, false);
      if (requests.followsResponses) exchange.watch();
      try {
        const plan = await requests.plan(request, undefined);
        if (plan.info !== undefined) glue.record(request, plan.info);
        const decision = plan.info?.decision;
        if (plan.denial !== undefined || plan.isGone) return { response: await deny(exchange, plan, glue), decision };
        return { headers: new Headers(plan.fields.map(({ name, value }) => [name, value])), decision };
      } finally {
        exchange.leave();
      }
    },
    get limiter() {
      return requests.limiter;
    },
    async keyFor(request, ...context) {
      checkRequest(request);
      const known = Exchange.of(request);
      // An exchange opened without the context knows no address.
      if (known?.isOpen !== true && context.length > (known?.context.length ?? 0)) open(request, context, false);
      return requests.keyFor(request) as Promise<never>;
    },
  };
}

/**
 * A {@link rateLimit} for an application: its limits need no option `address`, and may have one.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function createRateLimit(options: Required<AddressOption>): typeof rateLimit {
  return withAddress(rateLimit, options);
}
