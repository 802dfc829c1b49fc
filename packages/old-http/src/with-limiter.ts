import type { Limiter } from '@sluice/old-core';
import { Enforcer } from './enforcer.ts';
import type { Layer } from './layer.ts';
import type { ResponsePlan } from './response-plan.ts';

/**
 * Properties of every middleware, with which a handler can reset or block a key of it:
 * `await login.limiter.reset(await login.keyFor(request))`.
 */
export interface Limited<Request, Key, Response = never> {
  /**
   * The limiter of the middleware: its own, or the one of the option `limiter`.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then: see
   * {@link limiterFor}.
   */
  readonly limiter: Limiter<Key>;
  /**
   * The request's key or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  keyFor(request: Request): Promise<Key>;
  /**
   * The limiter of a request, also if a function picks the policy. The function is called again, without a response;
   * the limiter has the budgets of the policy that it returns now.
   *
   * @throws (rejects) errors of the function; PolicyError for a policy without a name.
   */
  limiterFor(request: Request): Promise<Limiter<Key>>;
  /**
   * Decides about a request as the middleware does, and writes nothing to the response: for those who write it
   * themselves, from the `fields`, the `info` and, if the request is denied, the `denial` of the result. The request
   * counts once, whichever of the two sees it first. Refunds and slots still follow the response.
   *
   * @throws (rejects) errors of the user's functions; StoreError, with `onStoreError: 'throw'`.
   */
  enforce(request: Request, response: Response): Promise<ResponsePlan<Request, Response>>;
}

/**
 * Adds `limiter`, `keyFor`, `limiterFor` and `enforce` to a middleware.
 *
 * @param layer - The layer of the middleware, or a function that makes it on first use.
 */
export function withLimiter<Handler extends object, Request, Response>(
  handler: Handler,
  layer: Layer<Request, Response> | (() => Layer<Request, Response>),
): Handler & Limited<Request, never, Response> {
  const layerNow = typeof layer === 'function' ? layer : () => layer;
  let enforcer: Enforcer<Request, Response> | undefined;
  const enforcerNow = () => (enforcer ??= new Enforcer([layerNow()], layerNow().framework));
  Object.defineProperties(handler, {
    limiter: { get: () => layerNow().limiter, enumerable: true },
    keyFor: { value: async (request: Request) => layerNow().keyFor(request), enumerable: true },
    limiterFor: { value: async (request: Request) => layerNow().limiterFor(request), enumerable: true },
    enforce: {
      configurable: true,
      value: async (request: Request, response: Response) => enforcerNow().enforce(request, response),
      enumerable: true,
    },
  });
  return handler as Handler & Limited<Request, never, Response>;
}
