import { RateLimitError, type KeyByLimit, type Limited, type RateLimitInfo } from '@sluice/old-http';
import {
  createEnforcer,
  userIdOf,
  withLimiter,
  type KeyEachOptions,
  type OneKeyOptions,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/old-http/spi';
import type { Context, Env, MiddlewareHandler, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { parseAddress, type AddressSource } from '../addresses.ts';
import { conclude, concludeWithout, send, statusOf } from '../conclude.ts';
import { denialOf } from '../denial.ts';
import { Exchange } from '../exchange.ts';
import { frameworkOf } from '../framework.ts';
import { routeTemplate } from './route-template.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit: RateLimitInfo | undefined;
  }
}

interface HonoOptions {
  /**
   * Where the client's address comes from: `fromBun()`, `fromDeno`, `fromNode`, `fromCloudflare`, `fromVercel`,
   * `fromProxy(...)`, or a function of the request and Hono's `env`. Keys and lists of addresses need it, also the
   * default key.
   */
  address?: AddressSource | undefined;
}

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<E extends Env = Env> = NeutralOptions<Context<E>, Response, undefined> & HonoOptions;
type OneKey<E extends Env> = OneKeyOptions<Context<E>, Response, undefined> & HonoOptions;
type KeyEach<E extends Env> = KeyEachOptions<Context<E>, Response, undefined> & HonoOptions;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Hono's own middleware, for applications with any types
type AnyEnv = any;

/**
 * Middleware for an application or a route. `Key` is a string or, with several limits, an object with a key per limit.
 */
export interface RateLimitMiddleware<Key = string, E extends Env = Env>
  extends MiddlewareHandler<E>, Omit<Limited<Context<E>, Key>, 'enforce'> {}

/**
 * Hono middleware, for `app.use` or a route. A request over the limit gets 429. When the store fails, `onStoreError`
 * decides. The key and the decision are `c.var.rateLimit`.
 *
 * For an application with types of its own, `rateLimit<Env>(options)` uses them in the functions.
 *
 * @example
 * ```ts
 * app.post('/login', rateLimit({ limit: 5, window: '1m', address: fromNode }), login);
 * ```
 *
 * @throws PolicyError for bad or unknown options, and for a key by address without the option `address`.
 */
export function rateLimit(options: OneKey<AnyEnv>): RateLimitMiddleware<string, AnyEnv>;
export function rateLimit(options: KeyEach<AnyEnv>): RateLimitMiddleware<KeyByLimit, AnyEnv>;
export function rateLimit<E extends Env>(options: OneKey<E>): RateLimitMiddleware<string, E>;
export function rateLimit<E extends Env>(options: KeyEach<E>): RateLimitMiddleware<KeyByLimit, E>;
export function rateLimit<E extends Env = Env>(
  options: RateLimitOptions<E>,
): RateLimitMiddleware<string | KeyByLimit, E>;
export function rateLimit(options: object): RateLimitMiddleware<never> {
  const { address } = (options as RateLimitOptions | undefined) ?? {};
  const framework = frameworkOf<Context>(
    {
      incoming: (c) => c.req.raw,
      context: (c) => [c.env as unknown],
      method: (c) => c.req.method,
      route: routeTemplate,
      header: (c, name) => c.req.header(name),
      user: (c) => userIdOf((c.get('user') ?? c.get('jwtPayload')) as unknown),
      early: (c, name) => c.res.headers.get(name) ?? undefined,
      record: (c, info) => {
        c.set('rateLimit', info);
      },
    },
    parseAddress(address),
  );
  const own = options as NeutralOptions<Context, Exchange<Context>>;
  const { enforcer, layer } = createEnforcer(own, framework, ['address']);
  const exposes = layer.settings.cors;
  const follows = layer.followsRequests;
  const middleware = (c: Context, next: Next): Promise<Response | undefined> => {
    const open = Exchange.of(c);
    const isOutermost = open?.isOpen !== true;
    const exchange = (isOutermost ? Exchange.open(c, c.req.raw, [c.env]) : open) as Exchange<Context>;
    if (exposes) exchange.exposes = true;
    if (follows) exchange.watch();
    const call: Call = { c, next, exchange, isOutermost };
    let passes: boolean | Promise<boolean>;
    try {
      passes = enforcer.limit(c, exchange);
    } catch (error) {
      return fail(call, error);
    }
    if (typeof passes !== 'boolean') {
      return passes.then(
        (late) => (late ? proceed(call) : deny(call)),
        (error: unknown) => fail(call, error),
      );
    }
    return passes ? proceed(call) : Promise.resolve(deny(call));
  };
  return withLimiter(middleware, layer);
}

/** One call of the middleware. */
interface Call {
  readonly c: Context;
  readonly next: Next;
  readonly exchange: Exchange<Context>;
  /** Whether no other limiter is around this one. The outermost one adds the fields of all. */
  readonly isOutermost: boolean;
}

/**
 * Calls the rest of the application. Its errors have become responses here, unless they are no errors of JavaScript.
 */
async function proceed({ c, next, exchange, isOutermost }: Call): Promise<undefined> {
  if (!isOutermost) {
    await next();
    return;
  }
  try {
    await next();
  } catch (error) {
    concludeWithout(exchange, statusOf(error));
    throw error;
  }
  if (!c.finalized) {
    concludeWithout(exchange, 101);
    return;
  }
  const response = c.res;
  const ended = conclude(exchange, response);
  if (ended !== response) replace(c, ended);
}

/** Sets the response. Hono would add the fields of the one before to it. */
function replace(c: Context, response: Response): void {
  c.res = undefined;
  c.res = response;
}

function deny({ c, exchange, isOutermost }: Call): Response {
  const isOurs = exchange.response === undefined; // otherwise it is the one of onDenied
  const denial = denialOf(
    exchange,
    (body, status, fields) => c.body(body as string, status as ContentfulStatusCode, fields),
    isOutermost,
  );
  const sent = isOutermost ? send(exchange, denial) : denial;
  // It has the fields that are set so far: Hono must not set them over ours.
  if (isOurs) replace(c, sent);
  return sent;
}

/**
 * Passes an error to Hono's error handler, which knows how to send those with a response. The fields of a denial are on
 * the context, so that the responses of any error handler have them; the outermost limiter adds them by itself.
 */
function fail({ c, exchange, isOutermost }: Call, error: unknown): Promise<never> {
  if (isOutermost) concludeWithout(exchange, statusOf(error));
  if (error instanceof RateLimitError) {
    const { message, status } = error;
    const headers = isOutermost ? error.headers : {};
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    Object.assign(error, { getResponse: () => new Response(message, { status, headers }) });
  }
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as it was thrown
  return Promise.reject(error);
}
