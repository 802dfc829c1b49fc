import { shown } from '../errors.ts';
import type { Decision } from '../limiter/decision.ts';

/** As Node keeps a header field: some are a list of lines. */
export type HeaderValue = string | number | readonly string[] | undefined;

/** The decision about a request and its key: the property `rateLimit` of the request. */
export interface RateLimitInfo {
  /** With several limits, the keys by the name of their limit. */
  readonly key: string | Readonly<Record<string, string>>;
  readonly decision: Decision;
}

/**
 * What a decision needs of a framework: how to read its requests, and how to notice the end of their responses.
 * Adapters share all other code.
 */
export interface FrameworkReader<Request, Response> {
  /**
   * Set if requests have no address: what to write instead. A key or list that needs an address is then an error that
   * ends with this text.
   */
  readonly noAddress?: string | undefined;
  /**
   * The client's address, as the framework resolves it by the application's proxy trust. Undefined after the socket
   * has closed.
   */
  address(request: Request): string | undefined;
  method(request: Request): string;
  /** The template of the matched route, mount path included, such as `/users/:id`. Undefined if no route matched. */
  route(request: Request): string | undefined;
  /** A header field, as the application sees it. Names are in lower case. */
  header(request: Request, name: string): HeaderValue;
  /** The id of the user, where the framework's usual authentication stores it. */
  user(request: Request): string | number | null | undefined;
  /** Node's own request: the same object, however often the framework wraps it. */
  rawRequest(request: Request): RawRequest;
  /**
   * An object that lives as long as the request. Core keeps what it knows about the request on it, under a symbol. Must
   * be the same object with the response or without.
   */
  locals(request: Request, response?: Response): object;
  /** Undefined for a call without a response. */
  rawResponse(response: Response): RawResponse | undefined;
  /**
   * The response passed to the user's functions, in frameworks whose handlers return it: undefined until there is one.
   * Default: the response itself.
   */
  argument?(response: Response): unknown;
  /**
   * Which proxies the application trusts: true for all, a function of address and hop, or a Fastify application, which
   * knows. Any other value means unknown. Read once, for warnings.
   */
  proxyTrust?(request: Request): unknown;
}

/** The parts of Node's own request that limiting needs. */
export interface RawRequest {
  readonly socket?: {
    readonly remoteAddress?: string | undefined;
    readonly destroyed?: boolean;
    once?(event: 'close', listener: () => void): unknown;
  } | null;
  /** HTTP/2 only: whether the request ended with its header fields. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
}

/** The parts of an HTTP/2 stream that limiting needs. */
interface RawStream {
  readonly destroyed?: boolean;
  readonly closed?: boolean;
  readonly rstCode?: number;
  readonly writableFinished?: boolean;
  /** Undefined once the stream is destroyed. */
  readonly session?: { readonly destroyed: boolean } | undefined;
}

/** The parts of Node's own response, of HTTP/1 or HTTP/2, that limiting needs. */
export interface RawResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly statusCode: number;
  /** HTTP/1 only: whether the client has left or the response has ended. */
  readonly destroyed?: boolean;
  /** HTTP/1 only: whether the response has been handed over completely. */
  readonly writableFinished?: boolean;
  /** HTTP/2 only: a response that was cut off emits `finish` there too. */
  readonly stream?: RawStream | undefined;
  once(event: 'close' | 'finish', listener: () => void): unknown;
  off(event: 'close' | 'finish', listener: () => void): unknown;
}

/** Everything that differs between frameworks: how to read a request, and how to write a response. */
export interface Framework<Request, Response> extends FrameworkReader<Request, Response> {
  /** A header field of the response as set so far, its name in lower case. */
  getHeader(response: Response, name: string): HeaderValue;
  setHeader(response: Response, name: string, value: string): void;
  setStatus(response: Response, status: number): void;
  /** Removes a field that describes another body. */
  removeHeader(response: Response, name: string): void;
  send(response: Response, body: string): void;
  /**
   * Sends the value that `onDenied` returned, in frameworks whose handlers return their response. Not called for
   * undefined or for the response itself.
   */
  answerWith?(response: Response, value: unknown): void;
  /** Stores the key and the decision where the application's handlers read them, if that is not {@link locals}. */
  record?(request: Request, info: RateLimitInfo): void;
}

/** A framework whose requests and responses only its own functions read. */
export type AnyReader = FrameworkReader<object, unknown>;
export type AnyFramework = Framework<object, unknown>;

/** The id in an authentication library's user object: its `id`, or the `sub` of a token. */
export function readUserId(user: unknown): string | number | null | undefined {
  const { id, sub } = (user ?? {}) as Record<'id' | 'sub', string | number | null | undefined>;
  return id ?? sub;
}

/** A header field as one string. */
export function joinLines(value: HeaderValue): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value?.toString();
}

/**
 * The thrown value, if it is an object; an Error about it otherwise. A framework could take any other value for
 * something else: undefined for no error, `'route'` for a request to skip the handler.
 */
export function asError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new Error(`something other than an Error was thrown: ${shown(thrown)}`, { cause: thrown });
}
