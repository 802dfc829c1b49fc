import type { RateLimitInfo } from '@sluice/core';
import { warnOnce, type Framework, type RawResponse } from '@sluice/core/http';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * What the requests of both platforms have in common. For all that your platform has, name its type:
 * `@RateLimit<Request>({ ... })`, `RateLimitModule.forRoot<FastifyRequest>({ ... })`; what your application puts there is
 * declared by `declare module '@sluice/nestjs' { interface NestRequest { tenant?: string } }`.
 */
export interface NestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address, as the platform resolved it. */
  readonly ip?: string | undefined;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  /** What the usual authentication leaves. */
  readonly user?: { readonly id?: string | number; readonly sub?: string | number } | undefined;
  /** The key and the decision, once a limit has seen the request. */
  rateLimit?: RateLimitInfo;
}

/** What the responses of both platforms have in common. */
export interface NestResponse {
  statusCode: number;
  getHeader(name: string): number | string | readonly string[] | undefined;
  header(name: string, value: string): unknown;
  status(code: number): unknown;
  /** Sends the body, and so the answer. */
  send(body: string): unknown;
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

/** What may be found on the requests of Express and Fastify, and on Node's own, which Fastify gives to middleware. */
interface FoundRequest {
  readonly method?: string;
  readonly headers?: IncomingHttpHeaders;
  readonly ip?: string | undefined;
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly user?: unknown;
  /** Express. */
  readonly baseUrl?: string;
  readonly route?: { readonly path: unknown };
  readonly app?: { get(setting: string): unknown };
  /** Fastify. */
  readonly raw?: FoundRequest;
  readonly routeOptions?: { readonly url?: string };
  readonly server?: object;
  rateLimit?: RateLimitInfo;
}

/** Node's own response. */
export interface NodeResponse extends RawResponse {
  statusCode: number;
  getHeader(name: string): number | string | string[] | undefined;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** A response that Fastify has made of Node's own. */
interface Wrapped extends NestResponse {
  readonly raw: NodeResponse;
}

/** Both platforms, on HTTP. */
export const httpFramework: Framework<NestRequest, NestResponse> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => {
    const { routeOptions, route, baseUrl = '' } = request as FoundRequest;
    if (routeOptions?.url !== undefined) return routeOptions.url;
    // Express finds /API and /api alike, so a server that Nest is mounted in does too.
    if (route !== undefined) return baseUrl.toLowerCase() + String(route.path);
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      'byRoute() was asked in RateLimitMiddleware, which runs before Nest knows the route, so all requests there share one budget. ' +
        'Put limits by route into @RateLimit(), or leave the middleware out.',
    );
    return undefined;
  },
  header,
  user: (request) => userOf(request) ?? userOf((request as FoundRequest).raw),
  rawRequest,
  rawResponse: (response) => (isNode(response) ? response : (response as Wrapped).raw),
  getHeader: (response, name) => {
    const value = response.getHeader(name);
    return Array.isArray(value) ? value.join(', ') : value?.toString();
  },
  setHeader: (response, name, value) => {
    if (isNode(response)) response.setHeader(name, value);
    else response.header(name, value);
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    if (isNode(response)) response.end(body);
    // As bytes: to the type of a text, Fastify adds a charset.
    else response.send(Buffer.from(body) as unknown as string);
  },
  record,
  proxyTrust: (request) => {
    const { app, server } = request as FoundRequest;
    return app === undefined ? server && trustOfFastify(server) : app.get('trust proxy fn');
  },
};

/**
 * Both platforms ahead of routing, where Fastify's middleware has Node's own request, which knows of no application.
 *
 * @param platform - The application, once it is asked for.
 */
export function middlewareFramework(platform: () => object | undefined): Framework<NestRequest, NestResponse> {
  return {
    ...httpFramework,
    proxyTrust: (request) => {
      const app = platform();
      return httpFramework.proxyTrust?.(request) ?? (app && trustOfFastify(app));
    },
  };
}

/**
 * What is neither Express nor Fastify: GraphQL, WebSockets, messages. Nothing is written, and each call counts, also of
 * several on one request.
 *
 * @param place - The handler, in place of a route.
 */
export function executionFramework(place: string): Framework<NestRequest, NestResponse> {
  return {
    ...httpFramework,
    address: (request) => request.ip ?? rawRequest(request).socket?.remoteAddress,
    method: (request) => (request as FoundRequest).method ?? '',
    route: () => place,
    rawRequest: (request) => ({ socket: rawRequest(request).socket ?? null }),
    // Where there is no response, there is none to wait for.
    rawResponse: (response: NestResponse | undefined) =>
      response === undefined ? NO_RESPONSE : httpFramework.rawResponse(response),
  };
}

/**
 * Node's own response as Fastify hands it to middleware, with the methods that `onDenied` and `refund` know from guards.
 */
export class RawReply implements Wrapped {
  readonly raw: NodeResponse;

  constructor(raw: NodeResponse) {
    this.raw = raw;
  }

  get statusCode(): number {
    return this.raw.statusCode;
  }

  set statusCode(code: number) {
    this.raw.statusCode = code;
  }

  getHeader(name: string): number | string | string[] | undefined {
    return this.raw.getHeader(name);
  }

  header(name: string, value: string): this {
    this.raw.setHeader(name, value);
    return this;
  }

  status(code: number): this {
    this.raw.statusCode = code;
    return this;
  }

  send(body: string): this {
    this.raw.end(body);
    return this;
  }
}

/** The decision that stands on a request, or on the one that Fastify has made it of. */
export function infoOf(request: object): RateLimitInfo | undefined {
  return (request as FoundRequest).rateLimit ?? (request as FoundRequest).raw?.rateLimit;
}

/** Leaves a decision on the request and, with Fastify, on Node's own as well, which middleware has. */
export function record(request: object, info: RateLimitInfo): void {
  (request as FoundRequest).rateLimit = info;
  const { raw } = request as FoundRequest;
  if (raw !== undefined) raw.rateLimit = info;
}

const NO_RESPONSE: RawResponse = {
  headersSent: false,
  writableEnded: false,
  statusCode: 200,
  once: () => undefined,
  off: () => undefined,
};

/** Whether a response is Node's own, as those of Express are: made to do more, but not wrapped. */
function isNode(response: NestResponse): response is NestResponse & NodeResponse {
  return (response as Partial<Wrapped>).raw === undefined;
}

function rawRequest(request: FoundRequest): FoundRequest {
  return request.raw ?? request;
}

function header(request: FoundRequest, name: string): string | undefined {
  const value = request.headers?.[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

function userOf(request: FoundRequest | undefined): string | number | undefined {
  const user = request?.user as { id?: string | number; sub?: string | number } | null | undefined;
  return user?.id ?? user?.sub;
}

/** The option `trustProxy`, which Fastify keeps under a symbol: where that is not to be found, nothing is known. */
function trustOfFastify(app: object): unknown {
  for (let at: object | null = app; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options');
    if (symbol !== undefined) return (at as Record<symbol, { trustProxy?: unknown } | undefined>)[symbol]?.trustProxy;
  }
  return undefined;
}
