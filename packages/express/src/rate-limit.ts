import {
  limitMethods,
  limitRequests,
  withLimiter,
  type Limited,
  type MethodDecorator,
  type RateLimitInfo,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/core/http';
import type { NextFunction, Request, Response } from 'express';
import { frameworkFor } from './framework.ts';

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions = NeutralOptions<Request, Response>;

/** Middleware that keeps the types of the parameters of its route. */
export interface RateLimitHandler extends Limited<Request> {
  <Params, Body, Sent, Query, Locals extends Record<string, unknown>>(
    request: Request<Params, Body, Sent, Query, Locals>,
    response: Response<Body, Locals>,
    next: NextFunction,
  ): void;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express types its request through this namespace
  namespace Express {
    interface Request {
      /** The key and the decision, once a limiter has seen the request. */
      rateLimit?: RateLimitInfo;
    }
  }
}

/**
 * Express middleware. A request over the limit gets 429. When the store fails, `onStoreError` decides.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * ```
 *
 * @throws PolicyError for bad or unknown options, with the field, what was expected and what was given.
 */
export function rateLimit(options: RateLimitOptions): RateLimitHandler {
  const framework = frameworkFor(() => handler);
  const requests = limitRequests(options, framework);
  const handler = requests.limitThen.bind(requests);
  return withLimiter(handler, requests);
}

/**
 * Limits a handler method `(request, response, next)` of a class. The limiter is named `<Class>.<method>`, unless the
 * options have a name. Works as a standard decorator and with `experimentalDecorators`.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined or first instantiated.
 */
export function RateLimit(options: RateLimitOptions): MethodDecorator {
  return limitMethods(
    options,
    frameworkFor(() => undefined),
    (args) => {
      const [request, response, next] = args as [Request, Response, NextFunction | undefined];
      return { request, response, fail: next }; // Express 4 ignores a rejected promise, and the request would hang
    },
  );
}
