import type { IncomingHttpHeaders } from 'node:http';
import type { RateLimitInfo } from '@sluice/core/http';

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

/** The common part of the responses of both platforms. */
export interface NestResponse {
  statusCode: number;
  getHeader(name: string): number | string | readonly string[] | undefined;
  header(name: string, value: string): NestResponse;
  removeHeader(name: string): unknown;
  status(code: number): NestResponse;
  /** Sends the response: a string or bytes unchanged, any other value as JSON. */
  send(body?: unknown): unknown;
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

/** Properties of the requests of Express and Fastify. */
export interface FoundRequest {
  readonly headers?: IncomingHttpHeaders;
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly user?: unknown;
  /** Express. */
  readonly route?: { readonly path: unknown };
  readonly app?: { get(setting: string): unknown };
  /** Fastify. */
  readonly raw?: FoundRequest;
  readonly routeOptions?: { readonly url?: string };
  readonly server?: object;
}
