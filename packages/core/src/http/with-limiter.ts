import type { Limiter } from '../limiter.ts';
import type { Layer } from './layer.ts';

/**
 * What stands on every middleware, so that a handler can reset or block what the middleware counts:
 * `await login.limiter.reset(await login.keyFor(request))`.
 */
export interface Limited<Request, Key> {
  /**
   * The limiter behind it: its own, or the one it was given.
   *
   * @throws PolicyError where a function picks the policy: there is no one limiter then.
   */
  readonly limiter: Limiter<Key>;
  /**
   * The request's key or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` when it has none.
   */
  keyFor(request: Request): Promise<Key>;
}

/**
 * Puts `limiter` and `keyFor` on a middleware.
 *
 * @param layer - What it asks, or how to get it where that is made when it is first needed.
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
