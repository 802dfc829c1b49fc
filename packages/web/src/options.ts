import { PolicyError } from '@sluice/core';
import {
  limitRequests,
  readUserId,
  type RateLimitInfo,
  type RateLimitOptions as NeutralOptions,
  type RequestLimiter,
} from '@sluice/core/http';
import { parseAddress, type AddressOption } from './addresses.ts';
import type { Glue } from './deny.ts';
import { Exchange } from './exchange.ts';
import { frameworkFor } from './framework.ts';
import { makeFindRoute } from './routes.ts';

declare global {
  interface Request {
    /** The key and the decision, once a limiter has seen the request. */
    rateLimit?: RateLimitInfo;
  }
}

type FieldsOfDenial = Readonly<Record<string, string>> | Headers;

/** The options that only fetch handlers have. */
export interface WebOptions<Req extends Request = Request> extends AddressOption<Req> {
  /**
   * The templates of the application's routes, for `byRoute()`: `/users/:id` has a parameter, `/files/*` is `/files` and
   * all below it. The first that matches is the route.
   */
  routes?: readonly string[] | undefined;
  /**
   * Header fields of every denial, such as CORS fields: a denied request does not reach the handler, which sets them on
   * all other responses.
   */
  deniedHeaders?: FieldsOfDenial | ((request: Req) => FieldsOfDenial) | undefined;
}

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<Req extends Request = Request> = NeutralOptions<Req, Response, undefined> &
  WebOptions<Req>;

/** The checked limits of one `rateLimit(options)`. */
export interface Limits {
  readonly requests: RequestLimiter;
  readonly glue: Glue<Request>;
  /** Opens an exchange, in which a handler may run. */
  readonly open: (request: Request, context: readonly unknown[], runs: boolean) => Exchange<Request>;
}

const OWN_OPTIONS: readonly (keyof WebOptions)[] = ['address', 'routes', 'deniedHeaders'];

/** @throws PolicyError for bad or unknown options, and for a key by address without the option `address`. */
export function parse(options: RateLimitOptions): Limits {
  const { address, routes, deniedHeaders } = (options as RateLimitOptions | undefined) ?? {};
  const source = address === undefined ? undefined : parseAddress(address);
  const findRoute = makeFindRoute(routes);
  const open: Limits['open'] = (request, context, runs) => new Exchange(request, request, context, source, runs);
  const framework = frameworkFor<Request>(
    {
      method: (request) => request.method,
      route: (request) => findRoute(request.url),
      header: (request, name) => request.headers.get(name) ?? undefined,
      user: (request) => readUserId((request as { user?: unknown }).user),
    },
    source,
    (request) => Exchange.of(request) ?? open(request, [], false),
  );
  return { requests: limitRequests(options, framework, OWN_OPTIONS), glue: makeGlue(deniedHeaders), open };
}

function makeGlue(deniedHeaders: RateLimitOptions['deniedHeaders']): Glue<Request> {
  const given = typeof deniedHeaders === 'function' ? deniedHeaders : readHeaders(deniedHeaders);
  return {
    record(request, info) {
      request.rateLimit = info;
    },
    make(request, body, status, fields) {
      const headers = typeof given === 'function' ? readHeaders(given(request)) : new Headers(given);
      for (const [name, value] of Object.entries(fields)) headers.set(name, value);
      return new Response(body, { status, headers });
    },
  };
}

/** @throws PolicyError for anything but header fields. */
function readHeaders(fields: FieldsOfDenial | undefined): Headers {
  try {
    return new Headers(fields);
  } catch (error) {
    const expected = 'an object of header fields, or a function of the request that returns one';
    throw new PolicyError(
      'deniedHeaders',
      `deniedHeaders must be ${expected}: ${(error as Error).message}`,
      'SLUICE_OPTION_INVALID',
    );
  }
}
