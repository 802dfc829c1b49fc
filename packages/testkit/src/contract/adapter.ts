import type { Readable } from 'node:stream';
import type { RateLimitInfo, RateLimitOptions } from '@sluice/core/http';
import type { Listening } from '../raw-http.ts';

/** The common part of requests of every framework, for {@link header}. */
export interface AnyRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers;
}

type Options = RateLimitOptions<AnyRequest, never>;
type NameIn<T> = T extends unknown ? keyof T : never;
type ValueIn<T, Name> = T extends unknown ? (Name extends keyof T ? T[Name] : never) : never;

/** Options of every adapter, as scenarios write them: those of all ways to define a limit. */
export type Limit = { readonly [Name in NameIn<Options>]?: ValueIn<Options, Name> | undefined };

/** The call of a handler: a framework's request, or what an adapter's tests read of it. */
export interface Call extends AnyRequest {
  /** The key and the decision, as the adapter provides them to handlers. */
  readonly rateLimit?: RateLimitInfo | undefined;
}

/** The response of a handler. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default empty. */
  readonly body?: string;
  /** Instead of `body`: sent in chunks. */
  readonly stream?: Readable;
}

/** May throw: then the framework sends its own error response. */
export type Handle = (call: Call) => Answer | Promise<Answer>;

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Such as `/login` or `/users/:id`. */
  readonly path: string;
  /**
   * Limits of only this route, declared as is usual in the framework: middleware of the route, its config, a decorator.
   */
  readonly limit?: Limit;
  readonly handle: Handle;
}

/** The application that a scenario needs. */
export interface App {
  /** Limits of the whole application, the outermost first: 404s and bare OPTIONS included. */
  readonly limits?: readonly Limit[];
  readonly routes: readonly Route[];
  /** Header fields that are set before the limiter runs, as by a CORS middleware. */
  readonly before?: Readonly<Record<string, string>>;
  /** Trust X-Forwarded-For from 127.0.0.1, so that a test can be several clients. Default false: trust no proxy. */
  readonly trustLoopback?: boolean;
  /**
   * Put the user named by the header `x-user` where the framework's usual authentication puts it, ahead of the
   * limiter.
   */
  readonly users?: boolean;
  /** Change the method to that of `x-http-method-override`, before or after the limiter, but before routing. */
  readonly methodOverride?: 'before' | 'after';
}

/** Why scenarios cannot be played with an adapter, by the beginning of their titles. */
export type Impossible = Readonly<Record<string, string>>;

/** An adapter with one version of its framework: how to build applications with it, and serve them on a real port. */
export interface AdapterUnderTest {
  /** Such as `Express 5`. */
  readonly name: string;
  start(app: App): Promise<Listening>;
  /** The same over HTTP/2 without TLS, if the framework supports it. */
  startHttp2?(app: App): Promise<Listening>;
  /** Responds in the framework's own way, as an application's `onDenied` does; returns what that returns. */
  answer(response: never, answer: Answer): unknown;
  readonly impossible?: Impossible;
}

/**
 * A header of any framework's request, as passed to handlers or functions of the request; undefined if there is none.
 */
export function header(request: AnyRequest, name: string): string | undefined {
  // A Hono context contains the request.
  const { headers } = 'headers' in request ? request : (request as { readonly req: { readonly raw: Request } }).req.raw;
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = headers[name];
  return value === undefined || typeof value === 'string' ? value : value.join(', ');
}

/** The number in a header. */
export function numberIn(request: AnyRequest, name: string, missing: number): number {
  return Number(header(request, name) ?? missing);
}

/** For the option `cost`: the units in the header `x-cost`. */
export function readCost(request: AnyRequest): number {
  return numberIn(request, 'x-cost', 1);
}
