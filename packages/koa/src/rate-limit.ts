import {
  asError,
  createEnforcer,
  methodDecorator,
  namedByPlace,
  withLimiter,
  Layer,
  type Enforcer,
  type KeyEachOptions,
  type MethodDecorator,
  type OneKeyOptions,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/old-http/spi';
import type { KeyByLimit, Limited, RateLimitInfo, ResponsePlan } from '@sluice/old-http';
import type { Context, DefaultContext, DefaultState, ExtendableContext, Next, ParameterizedContext } from 'koa';
import { frameworkFor } from './framework.ts';

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<State = DefaultState, Custom = DefaultContext> = NeutralOptions<
  ParameterizedContext<State, Custom>,
  ParameterizedContext<State, Custom>
>;

/**
 * Middleware for an application or a route, with any type of state. `Key` is a string or, with several limits, an
 * object with a key per limit.
 */
export interface RateLimitMiddleware<Key = string> extends Omit<Limited<ExtendableContext, Key>, 'enforce'> {
  (ctx: ExtendableContext, next: Next): Promise<unknown>;
  /** As `enforce` of every middleware: decides, and writes nothing to the response. Both arguments are the context. */
  enforce(
    ctx: ExtendableContext,
    response?: ExtendableContext,
  ): Promise<ResponsePlan<ParameterizedContext, ParameterizedContext>>;
}

declare module 'koa' {
  interface DefaultState {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit?: RateLimitInfo;
  }
  // For applications with a state type of their own.
  interface ExtendableContext {
    state: { rateLimit?: RateLimitInfo };
  }
}

type OneKey<Ctx> = OneKeyOptions<Ctx, Ctx>;
type KeyEach<Ctx> = KeyEachOptions<Ctx, Ctx>;

/**
 * Koa middleware. A request over the limit gets 429. When the store fails, `onStoreError` decides.
 *
 * For an application with a state type of its own, `rateLimit<State>(options)` uses it in the functions.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * ```
 *
 * @throws PolicyError for bad or unknown options, with the field, what was expected and what was given.
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
  const middleware = (ctx: Context, next: Next): Promise<unknown> => {
    let limited: boolean | Promise<boolean>;
    try {
      limited = enforcer.limit(ctx, ctx);
    } catch (error) {
      return Promise.reject(errorOf(error));
    }
    if (limited === true && ctx.writable) return next();
    return typeof limited === 'boolean' ? Promise.resolve() : continueLater(limited, ctx, next);
  };
  const limited = withLimiter(middleware, layer);
  const enforce = async (ctx: Context, response: Context = ctx) => enforcer.enforce(ctx, response);
  return Object.defineProperty(limited, 'enforce', { value: enforce, enumerable: true });
}

/** Continues after an asynchronous decision. Errors of the rest of the application pass through unchanged. */
async function continueLater(limited: Promise<boolean>, ctx: Context, next: Next): Promise<unknown> {
  let goesOn: boolean;
  try {
    goesOn = await limited;
  } catch (error) {
    throw errorOf(error);
  }
  return goesOn && ctx.writable ? next() : undefined;
}

/**
 * Limits a handler method `(ctx, next)` of a class. The limiter is named `<Class>.<method>`, unless the options have
 * a name. Works as a standard decorator and with `experimentalDecorators`.
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

/** Whether the request continues. It does not if the client is gone. */
async function passes(enforcer: Enforcer<Context, Context>, ctx: Context): Promise<boolean> {
  try {
    return (await enforcer.limit(ctx, ctx)) && ctx.writable;
  } catch (error) {
    throw errorOf(error);
  }
}

/** Koa takes undefined or null for no error, and would send no response. Other thrown values stay unchanged. */
function errorOf(thrown: unknown): Error {
  return (thrown === undefined || thrown === null ? asError(thrown) : thrown) as Error;
}
