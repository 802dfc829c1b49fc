import type { Limiter } from '../limiter/limiter.ts';
import type { AnyReader } from './framework.ts';
import { Place } from './place.ts';
import { RequestLimiter } from './request-limiter.ts';

/**
 * Properties of every middleware, so that a handler can reset or block a key:
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
   * The key of the request or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  keyFor(request: Request): Promise<Key>;
}

/**
 * The limits of `rateLimit(options)` in an adapter: checked, and with their name claimed on the store.
 *
 * @param options - The user's options, unchecked.
 * @param ownOptions - Names of further options, which the adapter itself reads.
 * @throws PolicyError for bad or unknown options; `SLUICE_LIMITER_NAME_TAKEN` for a name that is in use on the store.
 */
export function limitRequests(
  options: object,
  framework: AnyReader,
  ownOptions: readonly string[] = [],
): RequestLimiter {
  const place = new Place(options, framework, ownOptions);
  const requests = new RequestLimiter([place], framework);
  place.claim();
  return requests;
}

/** Adds `limiter` and `keyFor` to a middleware. The limit is read when they are used. */
export function withLimiter<Handler extends object>(
  handler: Handler,
  requests: Pick<RequestLimiter, 'limiter' | 'keyFor'>,
): Handler & Limited<never, never> {
  Object.defineProperties(handler, {
    limiter: { get: () => requests.limiter, enumerable: true },
    keyFor: { value: async (request: object) => requests.keyFor(request), enumerable: true },
  });
  return handler as Handler & Limited<never, never>;
}
