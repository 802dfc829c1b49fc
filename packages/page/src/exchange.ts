/** A request as the page sees it, whatever the framework. */
export interface PageRequest {
  readonly method: string;
  /** The path and query of the URL as the client sent it. */
  readonly url: string;
  /** Where the page is mounted, without a slash at the end. Undefined where that is not known. */
  readonly base: string | undefined;
  header(name: string): string | undefined;
  /**
   * Reads the body, at most this many bytes.
   *
   * @throws (rejects) PageProblem 413 for a longer one, 400 for one that was read before.
   */
  body(longest: number): Promise<unknown>;
  /** The request of the framework, for `authorize`. */
  readonly native: unknown;
}

/** A response of the page. */
export interface PageResponse {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends texts until the client leaves, or until it calls `finish`; returns what stops it. */
  readonly stream?: (send: (text: string) => void, finish: () => void) => () => void;
}

/** An error that the client is told. */
export class PageProblem extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, fields: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.fields = fields;
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** What every response has: nothing is kept, framed, or read by another site. */
const COMMON = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function textResponse(
  status: number,
  type: string,
  body: string,
  fields: Readonly<Record<string, string>> = {},
): PageResponse {
  return { status, fields: { ...COMMON, 'content-type': type, ...fields }, body };
}

export function jsonResponse(value: unknown): PageResponse {
  return textResponse(200, 'application/json', JSON.stringify(value));
}

export function streamResponse(stream: NonNullable<PageResponse['stream']>): PageResponse {
  const fields = { ...COMMON, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
  return { status: 200, fields, stream };
}

/** An error as RFC 9457 writes it. */
export function problemResponse({ status, message, fields }: PageProblem): PageResponse {
  const problem = { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail: message };
  return textResponse(status, 'application/problem+json', JSON.stringify(problem), fields);
}
