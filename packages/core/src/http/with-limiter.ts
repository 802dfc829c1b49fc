import type { Limiter } from '../limiter/limiter.ts';
import type { Layer } from './layer.ts';

/**
 * Properties of every middleware, with which a handler can reset or block a key of it:
 * `await login.limiter.reset(await login.keyFor(request))`.
 */
export interface Limited<Request, Key> {
  /**
   * The limiter of the middleware: its own, or the one of the option `limiter`.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  readonly limiter: Limiter<Key>;
  /**
   * The request's key or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  keyFor(request: Request): Promise<Key>;
}

/**
 * Adds `limiter` and `keyFor` to a middleware.
 *
 * @param layer - The layer of the middleware, or a function that makes it on first use.
 */
export function withLimiter<Handler extends object, Request, Response>(
  handler: Handler,
  layer: Layer<Request, Response> | (() => Layer<Request, Response>),
): Handler & Limited<Request, never> {
  const layerNow = typeof layer === 'function' ? layer : () => layer;
  Object.defineProperties(handler, {
    limiter: { get: () => layerNow().limiter, enumerable: true },
    keyFor: { value: async (request: Request) => layerNow().keyFor(request), enumerable: true },
  });
  return handler as Handler & Limited<Request, never>;
}
