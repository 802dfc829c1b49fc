import {
  asError,
  createEnforcer,
  expectLongLife,
  methodDecorator,
  namedByPlace,
  withLimiter,
  Layer,
  type Enforcer,
  type KeyByLimit,
  type KeyEachOptions,
  type Limited,
  type MethodDecorator,
  type OneKeyOptions,
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

/**
 * Middleware for an application or a route, whatever types its state has. `Key` is a string or, with several limits, an
 * object with a key per limit.
 */
export interface RateLimitMiddleware<Key = string> extends Limited<ExtendableContext, Key> {
  (ctx: ExtendableContext, next: Next): Promise<unknown>;
}

declare module 'koa' {
  interface DefaultState {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit?: RateLimitInfo;
  }
  // Of applications that give their state a type of their own.
  interface ExtendableContext {
    state: { rateLimit?: RateLimitInfo };
  }
}

type OneKey<Ctx> = OneKeyOptions<Ctx, Ctx>;
type KeyEach<Ctx> = KeyEachOptions<Ctx, Ctx>;

/**
 * Koa middleware. A request over the limit is answered with 429; a store failure follows `onStoreError`.
 *
 * Where the application gives its state a type of its own, `rateLimit<State>(options)` has it in the functions too.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * ```
 *
 * @throws PolicyError for bad or unknown options, naming the field, what was expected and what came.
 */
export function rateLimit(options: OneKey<Context>): RateLimitMiddleware;
export function rateLimit(options: KeyEach<Context>): RateLimitMiddleware<KeyByLimit>;
export function rateLimit<State = DefaultState, Custom = DefaultContext>(
  options: OneKey<ParameterizedContext<State, Custom>>,
): RateLimitMiddleware;
export function rateLimit<State = DefaultState, Custom = DefaultContext>(
  options: KeyEach<ParameterizedContext<State, Custom>>,
): RateLimitMiddleware<KeyByLimit>;
export function rateLimit(options: RateLimitOptions): RateLimitMiddleware<string | KeyByLimit>;
export function rateLimit(options: object): RateLimitMiddleware<never> {
  const { enforcer, layer } = createEnforcer(
    options as RateLimitOptions,
    frameworkFor(() => middleware),
  );
  const use = expectLongLife();
  const middleware = (ctx: Context, next: Next): Promise<unknown> => {
    use();
    let limited: boolean | Promise<boolean>;
    try {
      limited = enforcer.limit(ctx, ctx);
    } catch (error) {
      return Promise.reject(errorOf(error));
    }
    if (limited === true && ctx.writable) return next();
    return typeof limited === 'boolean' ? Promise.resolve() : goOnLater(limited, ctx, next);
  };
  return withLimiter(middleware, layer);
}

/** Where the store does not answer at once. What the rest of the application throws is not ours. */
async function goOnLater(limited: Promise<boolean>, ctx: Context, next: Next): Promise<unknown> {
  let goesOn: boolean;
  try {
    goesOn = await limited;
  } catch (error) {
    throw errorOf(error);
  }
  return goesOn && ctx.writable ? next() : undefined;
}

/**
 * Limits a handler method `(ctx, next)` of a class, under the limiter name `<Class>.<method>` unless the options say
 * another. Works as a standard decorator and under `experimentalDecorators`.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined.
 */
export function RateLimit(options: RateLimitOptions): MethodDecorator;
export function RateLimit<State = DefaultState, Custom = DefaultContext>(
  options: RateLimitOptions<State, Custom>,
): MethodDecorator;
export function RateLimit(options: object): MethodDecorator {
  const own = options as RateLimitOptions;
  const framework = frameworkFor(() => undefined);
  return methodDecorator(
    () => new Layer(own, framework),
    (method, place) => {
      const { enforcer } = createEnforcer(namedByPlace(own, place), framework);
      return async function (this: unknown, ...args: never[]): Promise<unknown> {
        const [ctx] = args as unknown as [ParameterizedContext];
        return (await passes(enforcer, ctx)) ? method.apply(this, args) : undefined;
      };
    },
  );
}

/** Whether the request goes on. When the client has gone, nobody is left to be answered. */
async function passes(enforcer: Enforcer<Context, Context>, ctx: Context): Promise<boolean> {
  try {
    return (await enforcer.limit(ctx, ctx)) && ctx.writable;
  } catch (error) {
    throw errorOf(error);
  }
}

/** Koa would take nothing for no error, and never answer. What else was thrown goes on as it is. */
function errorOf(thrown: unknown): Error {
  return (thrown === undefined || thrown === null ? asError(thrown) : thrown) as Error;
}
