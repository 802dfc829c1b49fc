import type { Readable } from 'node:stream';
import type { RateLimitInfo } from '@sluice/http';
import type { Store } from '@sluice/core';
import type { RateLimitOptions } from '@sluice/http/spi';

/** The common part of requests of every framework: enough for the functions in the suite's options. */
export interface AnyRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers;
}

/** The options of every adapter, as the suite writes them. */
export type SuiteOptions = RateLimitOptions<AnyRequest, never>;

/** The call of a handler, the same for every framework. */
export interface Call {
  readonly method: string;
  readonly headers: AnyRequest['headers'];
  /** The parsed body, where there is one. */
  readonly body: unknown;
  /** The key and the decision, as the adapter provides them to handlers. */
  readonly rateLimit: RateLimitInfo | undefined;
}

/** The response of a handler. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default empty. */
  readonly body?: string;
  /** Instead of `body`: sent piece by piece. */
  readonly stream?: Readable;
}

export interface SuiteRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Such as `/login` or `/users/:id`. */
  readonly path: string;
  /**
   * Limits of this route alone, declared as is usual in the framework: a middleware of the route, its config, a
   * decorator.
   */
  readonly limit?: SuiteOptions;
  /** May throw: then the framework's own error answer is sent. */
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

/** The application that a scenario needs. */
export interface SuiteApp {
  /** Limits of the whole application, the outermost first: 404s and bare OPTIONS included. */
  readonly limits?: readonly SuiteOptions[];
  readonly routes: readonly SuiteRoute[];
  /** Header fields that are set before the limiter runs, as by a CORS middleware. */
  readonly before?: Readonly<Record<string, string>>;
  /** Trust X-Forwarded-For from 127.0.0.1, so that a test can be several clients. Default false: trust no proxy. */
  readonly trustLoopback?: boolean;
  /**
   * Put the user named by the header `x-user` where the framework's usual authentication puts it, ahead of the
   * limiter.
   */
  readonly users?: boolean;
  /** Change the method to that of `x-http-method-override`, ahead of the limiter or behind it, before routing. */
  readonly methodOverride?: 'before' | 'after';
}

export interface RunningApp {
  /** On 127.0.0.1. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Scenarios that cannot be played on a target: a title, of one test or of a block, or several that follow each other joined by
 * ` › `; and the reason. Each must exist.
 */
export type Impossible = Readonly<Record<string, string>>;

/** A framework in one version, as the suite starts it: on a real port, over real HTTP. */
export interface AdapterTarget {
  /** Such as `Express 5`. */
  readonly name: string;
  start(app: SuiteApp): Promise<RunningApp>;
  /** The same over HTTP/2 without TLS, where the framework speaks it. */
  startHttp2?(app: SuiteApp): Promise<RunningApp>;
  /** Responds in the framework's own way, as an application's `onDenied` does; returns what that returns. */
  answer?(response: never, answer: Answer): unknown;
  /** A header of what the framework gives to functions of the request. Default: of its `headers`. */
  header?(request: never, name: string): string | undefined;
  /** The store that an application is given in place of this one, such as one that counts in it from afar. */
  through?(store: Store): Store;
  /** Scenarios that cannot be played on this framework, by title: why not. */
  readonly impossible?: Impossible;
}
