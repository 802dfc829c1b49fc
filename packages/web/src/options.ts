import type { RateLimitInfo } from '@sluice/old-http';
import {
  createEnforcer,
  userIdOf,
  type Enforcer,
  type Framework,
  type KeyEachOptions,
  type Layer,
  type OneKeyOptions,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/old-http/spi';
import { PolicyError } from '@sluice/old-core';
import { parseAddress, type AddressSource } from './addresses.ts';
import type { MakeResponse } from './denial.ts';
import type { Exchange } from './exchange.ts';
import { frameworkOf } from './framework.ts';
import { kindOf } from './kind-of.ts';
import { routeFinder, type Route } from './routes.ts';

type FieldsOfDenial = Readonly<Record<string, string>> | Headers;

/** The options of fetch handlers alone. */
export interface WebOptions<Req extends Request = Request> {
  /**
   * Where the client's address comes from: `fromBun()`, `fromDeno`, `fromNode`, `fromCloudflare`, `fromVercel`,
   * `fromProxy(...)`, or a function of the request and what the server passes beside it. Keys and lists of addresses
   * need it, also the default key.
   */
  address?: AddressSource<Req> | undefined;
  /** The templates of the application's routes, for `byRoute()`. The first that matches is the route. */
  routes?: readonly Route[] | undefined;
  /**
   * Header fields of each denial, such as those of CORS: a denied request does not reach the handler, which sets the
   * fields of all other responses.
   */
  deniedHeaders?: FieldsOfDenial | ((request: Req) => FieldsOfDenial) | undefined;
}

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<Req extends Request = Request> = NeutralOptions<Req, Response, undefined> &
  WebOptions<Req>;
export type OneKey<Req extends Request> = OneKeyOptions<Req, Response, undefined> & WebOptions<Req>;
export type KeyEach<Req extends Request> = KeyEachOptions<Req, Response, undefined> & WebOptions<Req>;

/** Header fields of the denial of a request. */
type DeniedHeaders = (request: Request) => Headers;

/** Decides the requests of one `rateLimit(options)`. */
export interface Limits {
  readonly enforcer: Enforcer<Request, Exchange<Request>>;
  readonly layer: Layer<Request, Exchange<Request>>;
  readonly framework: Framework<Request, Exchange<Request>>;
  /** Makes the response of a denial. */
  readonly make: (request: Request) => MakeResponse;
}

const OWN_OPTIONS: readonly (keyof WebOptions)[] = ['address', 'routes', 'deniedHeaders'];

/** @throws PolicyError for bad or unknown options, and for a key by address without the option `address`. */
export function parse(options: RateLimitOptions): Limits {
  // Unknown options are told of before values are looked at, and no options at all are told of by core.
  const { address, routes, deniedHeaders: headers } = (options as RateLimitOptions | undefined) ?? {};
  const deniedHeaders = parseDeniedHeaders(headers);
  const findRoute = routeFinder(routes);
  const framework = frameworkOf<Request>(
    {
      incoming: (request) => request,
      context: () => [],
      method: (request) => request.method,
      route: (request) => findRoute(request.url),
      header: (request, name) => request.headers.get(name) ?? undefined,
      user: (request) => userIdOf((request as { user?: unknown }).user),
      early: (request, name) => deniedHeaders?.(request).get(name) ?? undefined,
      record: (request, info: RateLimitInfo) => {
        request.rateLimit = info;
      },
    },
    parseAddress(address),
  );
  const own = options as unknown as NeutralOptions<Request, Exchange<Request>>;
  return { ...createEnforcer(own, framework, OWN_OPTIONS), framework, make: maker(deniedHeaders) };
}

function maker(deniedHeaders: DeniedHeaders | undefined): Limits['make'] {
  const plain: MakeResponse = (body, status, headers) => new Response(body, { status, headers });
  if (deniedHeaders === undefined) return () => plain;
  return (request) => (body, status, fields) => {
    const headers = new Headers(deniedHeaders(request));
    for (const [name, value] of Object.entries(fields)) headers.set(name, value);
    return new Response(body, { status, headers });
  };
}

function parseDeniedHeaders(option: unknown): DeniedHeaders | undefined {
  if (option === undefined) return undefined;
  if (typeof option === 'function') return (request) => headersOf((option as (request: Request) => unknown)(request));
  const headers = headersOf(option);
  return () => headers;
}

/** @throws PolicyError for what are no header fields. */
function headersOf(fields: unknown): Headers {
  let got = kindOf(fields);
  if (typeof fields === 'object' && fields !== null && got !== 'a promise') {
    try {
      return new Headers(fields as Record<string, string>);
    } catch (error) {
      got = (error as Error).message;
    }
  }
  throw new PolicyError(
    'deniedHeaders',
    `deniedHeaders must be an object of header fields, or a function of the request that returns one, got ${got}`,
    'SLUICE_OPTION_INVALID',
  );
}
