import {
  limitRequests,
  RateLimitError,
  readUserId,
  withLimiter,
  type Limited,
  type Plan,
  type RateLimitInfo,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/core/http';
import type { Context, Env, MiddlewareHandler, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { addFields } from '../add-fields.ts';
import { parseAddress, withAddress, type AddressOption } from '../addresses.ts';
import type { Glue } from '../deny.ts';
import { Exchange } from '../exchange.ts';
import { frameworkFor } from '../framework.ts';
import { limitExchange } from '../handle.ts';
import { routeTemplate } from './route-template.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit: RateLimitInfo | undefined;
  }
}

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<E extends Env = Env> = NeutralOptions<Context<E>, Response, undefined> &
  AddressOption<Context<E>>;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Hono's own middleware, for applications with any types
type AnyEnv = any;

/** Middleware for an application or a route. */
export interface RateLimitMiddleware<E extends Env = Env> extends MiddlewareHandler<E>, Limited<Context<E>> {}

/**
 * Hono middleware, for `app.use` or a route. A request over the limit gets 429. When the store fails, `onStoreError`
 * decides. The key and the decision are `c.var.rateLimit`.
 *
 * For an application with its own types, use `rateLimit<Env>(options)`.
 *
 * @example
 * ```ts
 * app.post('/login', rateLimit({ limit: 5, window: '1m', address: fromNode }), login);
 * ```
 *
 * @throws PolicyError for bad or unknown options, and for a key by address without the option `address`.
 */
export function rateLimit(options: RateLimitOptions<AnyEnv>): RateLimitMiddleware<AnyEnv>;
export function rateLimit<E extends Env>(options: RateLimitOptions<E>): RateLimitMiddleware<E>;
export function rateLimit(options: object): RateLimitMiddleware {
  const { address } = (options as RateLimitOptions | undefined) ?? {};
  const source = address === undefined ? undefined : parseAddress(address);
  const open = (c: Context, runs: boolean): Exchange<Context> => new Exchange(c, c.req.raw, [c.env], source, runs);
  const framework = frameworkFor<Context>(
    {
      method: (c) => c.req.method,
      route: routeTemplate,
      header: (c, name) => c.req.header(name),
      user: (c) => readUserId((c.get('user') ?? c.get('jwtPayload')) as unknown),
    },
    source,
    (c) => Exchange.of(c) ?? open(c, false),
  );
  const requests = limitRequests(options, framework, ['address']);
  const middleware = async (c: Context, next: Next): Promise<Response | undefined> => {
    const handle = async ({ fields, settings }: Plan): Promise<Response | undefined> => {
      // So a response that the context creates has them. Adding them later takes a look at its body, which would cost
      // @hono/node-server more than all else.
      for (const { name, value, append } of fields) {
        if (append && settings?.cors !== true) c.header(name, value, { append });
      }
      await next(); // its errors have become responses here, unless they are no errors of JavaScript
      return c.finalized ? c.res : undefined;
    };
    try {
      const response = (await limitExchange(open(c, true), requests, glue, handle, addMissing)) as Response | undefined;
      if (response === undefined || response === c.res) return undefined;
      c.res = undefined; // Hono would add its fields to the response, which has them
      c.res = response;
      return response;
    } catch (error) {
      if (error instanceof RateLimitError) prepare(c, error);
      throw error;
    }
  };
  return withLimiter(middleware, requests);
}

/**
 * A {@link rateLimit} for an application: its limits need no option `address`, and may have one.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function createRateLimit(options: Required<AddressOption<Context>>): typeof rateLimit {
  return withAddress(rateLimit, options);
}

/** Adds fields that a response does not have yet: those that the context creates have what was set before. */
const addMissing: typeof addFields = (response, fields, exposes) => {
  const isSet = ({ name, value, append }: Plan['fields'][number]): boolean =>
    append && `, ${response.headers.get(name) ?? ''}, `.includes(`, ${value}, `);
  return addFields(response, exposes ? fields : fields.filter((field) => !isSet(field)), exposes);
};

const glue: Glue<Context> = {
  record(c, info) {
    c.set('rateLimit', info);
  },
  make: (c, body, status, fields) => c.body(body as string, status as ContentfulStatusCode, fields),
  adopt(c, response) {
    c.res = response; // with the fields that middleware has set before
    return c.res;
  },
};

/**
 * Prepares an error for Hono's error handler, which knows how to send one that has a response. The fields are also on
 * the context, so that the response of any error handler has them.
 */
function prepare(c: Context, error: RateLimitError): void {
  const { message, status, headers } = error;
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  Object.assign(error, { getResponse: () => new Response(message, { status, headers }) });
}
