import type { RateLimitInfo } from '@sluice/core';
import {
  createEnforcer,
  userIdOf,
  type Enforcer,
  type Framework,
  type KeyEachOptions,
  type Layer,
  type OneKeyOptions,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/core/http';
import { PolicyError } from '@sluice/core';
import { parseAddress, type AddressSource } from './addresses.ts';
import type { MakeResponse } from './denial.ts';
import type { Exchange } from './exchange.ts';
import { frameworkOf } from './framework.ts';
import { routeFinder, type Route } from './routes.ts';

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
  deniedHeaders?: Readonly<Record<string, string>> | ((request: Req) => Readonly<Record<string, string>>) | undefined;
}

/** The options of {@link rateLimit}: docs/reference/options.md has the table. */
export type RateLimitOptions<Req extends Request = Request> = NeutralOptions<Req, Response, undefined> &
  WebOptions<Req>;
export type OneKey<Req extends Request> = OneKeyOptions<Req, Response, undefined> & WebOptions<Req>;
export type KeyEach<Req extends Request> = KeyEachOptions<Req, Response, undefined> & WebOptions<Req>;

/** Header fields of the denial of a request. */
type DeniedHeaders = (request: Request) => Readonly<Record<string, string>>;

/** What decides about the requests of one `rateLimit(options)`. */
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
      early: (request, name) => fieldOf(deniedHeaders?.(request) ?? {}, name),
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

function parseDeniedHeaders(option: WebOptions['deniedHeaders']): DeniedHeaders | undefined {
  if (option === undefined || typeof option === 'function') return option;
  if (typeof (option as unknown) === 'object' && (option as unknown) !== null) return () => option;
  throw new PolicyError(
    'deniedHeaders',
    `deniedHeaders must be an object of header fields, or a function of the request that returns one, got ${typeof option}`,
    'SLUICE_OPTION_INVALID',
  );
}

function fieldOf(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.entries(headers).find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1];
}
