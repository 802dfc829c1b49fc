import type { Limiter } from '../limiter/limiter.ts';
import type { Framework, FrameworkReader } from './framework.ts';
import { Place } from './place.ts';
import { RequestLimiter } from './request-limiter.ts';
import type { RateLimitOptions } from './options.ts';

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
 * The limiter of `rateLimit(options)` in an adapter: checked, and with its name claimed on the store.
 *
 * @param options - The user's options, unchecked.
 * @param ownOptions - Names of further options, which the adapter itself reads.
 * @throws PolicyError for bad or unknown options; `SLUICE_LIMITER_NAME_TAKEN` for a name that is in use on the store.
 */
export function limitRequests<
  Request,
  Response,
  Read extends FrameworkReader<Request, Response> = Framework<Request, Response>,
>(
  options: RateLimitOptions<Request, Response>,
  framework: Read,
  ownOptions: readonly string[] = [],
): { readonly requests: RequestLimiter<Request, Response, Read>; readonly place: Place<Request, Response> } {
  const place = new Place(options, framework, ownOptions);
  const requests = new RequestLimiter([place], framework);
  place.claim();
  return { requests, place };
}

/** Adds `limiter` and `keyFor` to a middleware. The limit is read when they are used. */
export function withLimiter<Handler extends object, Request, Response>(
  handler: Handler,
  limited: {
    readonly requests: Pick<RequestLimiter<Request, Response>, 'keyFor'>;
    readonly place: Pick<Place<Request, Response>, 'limiter'>;
  },
): Handler & Limited<Request, never> {
  Object.defineProperties(handler, {
    limiter: { get: () => limited.place.limiter, enumerable: true },
    keyFor: { value: async (request: Request) => limited.requests.keyFor(request), enumerable: true },
  });
  return handler as Handler & Limited<Request, never>;
}
