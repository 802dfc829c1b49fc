import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimitInfo } from '@sluice/core';

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
export interface FoundRequest {
  readonly method?: string;
  readonly headers?: IncomingHttpHeaders;
  readonly ip?: string | undefined;
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly user?: unknown;
  /** Express. */
  readonly baseUrl?: string;
  readonly route?: { readonly path: unknown };
  readonly app?: ExpressApp;
  /** Fastify. */
  readonly raw?: FoundRequest;
  readonly routeOptions?: { readonly url?: string };
  readonly server?: object;
  rateLimit?: RateLimitInfo;
}

/** An application of Express, which may be mounted in another. */
export interface ExpressApp {
  readonly parent?: ExpressApp;
  readonly mountpath?: string | readonly string[];
  get(setting: string): unknown;
}

/** Node's own request, which Fastify wraps. */
export function rawRequestOf(request: FoundRequest): FoundRequest {
  return request.raw ?? request;
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
