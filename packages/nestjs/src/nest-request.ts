import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimitInfo } from '@sluice/http';

/**
 * The common part of the requests of both platforms. Use the full type of your platform with
 * `@RateLimit<Request>({ ... })` or `RateLimitModule.forRoot<FastifyRequest>({ ... })`. Declare properties that your
 * application adds with `declare module '@sluice/nestjs' { interface NestRequest { tenant?: string } }`.
 */
export interface NestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address, as the platform resolves it. */
  readonly ip?: string | undefined;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  /** Set by the usual authentication. */
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

/** Properties of the requests of Express and Fastify, and of Node's own, which Fastify passes to middleware. */
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

/** The decision stored on a request, or on Node's own that Fastify wraps. */
export function infoOf(request: object): RateLimitInfo | undefined {
  return (request as FoundRequest).rateLimit ?? (request as FoundRequest).raw?.rateLimit;
}

/** Stores a decision on the request and, with Fastify, on Node's own too, which middleware gets. */
export function record(request: object, info: RateLimitInfo): void {
  (request as FoundRequest).rateLimit = info;
  const { raw } = request as FoundRequest;
  if (raw !== undefined) raw.rateLimit = info;
}
