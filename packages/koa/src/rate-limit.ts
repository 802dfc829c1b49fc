import {
  limitMethods,
  limitRequests,
  mapMaybe,
  withLimiter,
  type Limited,
  type MethodDecorator,
  type RateLimitInfo,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/core/http';
import type { Context, DefaultContext, DefaultState, ExtendableContext, Next, ParameterizedContext } from 'koa';
import { frameworkFor } from './framework.ts';

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<State = DefaultState, Custom = DefaultContext> = NeutralOptions<
  ParameterizedContext<State, Custom>,
  ParameterizedContext<State, Custom>
>;

/** Middleware for an application or a route, with any type of state. */
export interface RateLimitMiddleware extends Limited<ExtendableContext> {
  (ctx: ExtendableContext, next: Next): Promise<unknown>;
}

declare module 'koa' {
  interface DefaultState {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit?: RateLimitInfo;
  }
  // For applications with their own state type.
  interface ExtendableContext {
    state: { rateLimit?: RateLimitInfo };
  }
}

/**
 * Koa middleware. A request over the limit gets 429. When the store fails, `onStoreError` decides.
 *
 * For an application with its own state type, use `rateLimit<State>(options)`.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * ```
 *
 * @throws PolicyError for bad or unknown options, with the field, what was expected and what was given.
 */
export function rateLimit(options: RateLimitOptions): RateLimitMiddleware;
export function rateLimit<State = DefaultState, Custom = DefaultContext>(
  options: RateLimitOptions<State, Custom>,
): RateLimitMiddleware;
export function rateLimit(options: object): RateLimitMiddleware {
  const requests = limitRequests(
    options,
    frameworkFor(() => middleware),
  );
  // Not async, which would cost a third of a decision.
  const middleware = (ctx: Context, next: Next): Promise<unknown> => {
    const goOn = (passes: boolean): unknown => (passes && isOpen(ctx) ? next() : undefined);
    try {
      return Promise.resolve(mapMaybe(requests.limit(ctx, ctx), goOn));
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what a function of the options throws
      return Promise.reject(error);
    }
  };
  return withLimiter(middleware, requests);
}

/**
 * Limits a handler method `(ctx, next)` of a class. The limiter is named `<Class>.<method>`, unless the options have
 * a name. Works as a standard decorator and with `experimentalDecorators`.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined or first instantiated.
 */
export function RateLimit(options: RateLimitOptions): MethodDecorator;
export function RateLimit<State = DefaultState, Custom = DefaultContext>(
  options: RateLimitOptions<State, Custom>,
): MethodDecorator;
export function RateLimit(options: object): MethodDecorator {
  return limitMethods(
    options,
    frameworkFor(() => undefined),
    ([ctx]) => {
      const context = ctx as ParameterizedContext;
      return { request: context, response: context, goesOn: () => isOpen(context) };
    },
  );
}

/** Whether a response can still be sent. In HTTP/2, Koa checks the socket, which stays open after a stream is reset. */
function isOpen({ writable, res }: ParameterizedContext): boolean {
  const { stream } = res as { readonly stream?: { readonly closed: boolean } | undefined };
  return writable && stream?.closed !== true;
}
