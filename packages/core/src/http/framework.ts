import type { Decision } from '../decision.ts';
import type { Sightings } from './sighting.ts';

/** The decision and the key, as they stand on the request afterwards. */
export interface RateLimitInfo {
  /** Where several limits decided, the keys by the name of their limit. */
  readonly key: string | Readonly<Record<string, string>>;
  readonly decision: Decision;
}

/**
 * What an adapter knows how to read from its framework's request. The same questions everywhere, so that all else is
 * written once.
 */
export interface RequestReader<Request> {
  /**
   * The client's address as the framework resolved it, under the application's own trust in proxies. Undefined once the
   * socket is gone.
   */
  address(request: Request): string | undefined;
  method(request: Request): string;
  /** The template of the matched route, mount path included, such as `/users/:id`. Undefined when no route matched. */
  route(request: Request): string | undefined;
  /** A header field's value, as the framework reads it to the application too. Names are lower case. */
  header(request: Request, name: string): string | undefined;
  /** The id of the user, from where the framework's usual authentication puts it. */
  user(request: Request): string | number | null | undefined;
}

/** Node's own request, as far as limiting needs it. */
export interface RawRequest {
  readonly socket?: {
    readonly remoteAddress?: string | undefined;
    readonly destroyed?: boolean;
    once?(event: 'close', listener: () => void): unknown;
  } | null;
  /** Names and values of the header fields, in turn, as they came. */
  readonly rawHeaders?: readonly string[];
  /** Of HTTP/2: whether nothing followed the header fields. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
}

/** Node's own response, of HTTP/1 or HTTP/2, as far as limiting needs it. */
export interface RawResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly statusCode: number;
  /** Whether the client has left or the answer is over: of HTTP/1. */
  readonly destroyed?: boolean;
  /** Of HTTP/1: what is left of it tells an answer that was cut off from one that was handed over. */
  readonly socket?: { readonly destroyed: boolean } | null;
  /** Of HTTP/2, where `finish` comes for an answer that was cut off too. */
  readonly stream?: { readonly destroyed?: boolean; readonly rstCode?: number };
  once(event: 'close' | 'finish', listener: () => void): unknown;
  off(event: 'close' | 'finish', listener: () => void): unknown;
}

/** Where there is no response, and so nobody to hear of its end. */
export const NO_RESPONSE: RawResponse = {
  headersSent: false,
  writableEnded: false,
  statusCode: 200,
  once: () => undefined,
  off: () => undefined,
};

/** All that differs between frameworks: reading a request, and writing an answer in the framework's own way. */
export interface Framework<Request, Response> extends RequestReader<Request> {
  /** Node's own request: the same object however often the framework wraps it. */
  rawRequest(request: Request): RawRequest;
  /** Where it is kept what has been seen of Node's own request. Default: on the request itself. */
  readonly sightings?: Sightings;
  rawResponse(response: Response): RawResponse;
  /** A header field as it stands on the answer so far; several lines of it joined by commas. */
  getHeader(response: Response, name: string): string | undefined;
  setHeader(response: Response, name: string, value: string): void;
  setStatus(response: Response, status: number): void;
  /** Of an answer that was begun for another body. */
  removeHeader(response: Response, name: string): void;
  /** Sends the body, and so the answer. */
  send(response: Response, body: string): void;
  /**
   * Answers with what `onDenied` answered, where handlers of the framework answer so too. Not called for undefined or for
   * the response itself.
   */
  answerWith?(response: Response, value: unknown): void;
  /** Leaves the key and the decision where the application's handlers look for them. */
  record(request: Request, info: RateLimitInfo): void;
  /**
   * Whom the application believes about addresses: true for everybody, a number of hops where the framework does not heed
   * it, a function of address and hop; anything else, and undefined, says nothing. Asked once, for warnings.
   */
  proxyTrust?(request: Request): unknown;
}

/** A user's id, from what authentication leaves: `id`, or the `sub` of a token. */
export function userIdOf(user: unknown): string | number | null | undefined {
  const { id, sub } = (user ?? {}) as Record<'id' | 'sub', string | number | null | undefined>;
  return id ?? sub;
}

/** A header field as one text: Node has the lines of some as a list. */
export function fieldText(value: string | number | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value?.toString();
}
