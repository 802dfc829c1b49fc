import { STATUS_CODES } from 'node:http';

/** A request as the page sees it, whatever the framework. */
export interface PageRequest {
  readonly method: string;
  /** The path and query of the URL as the client sent it. */
  readonly url: string;
  /** Where the page is mounted, without a trailing slash. Undefined if unknown. */
  readonly base: string | undefined;
  header(name: string): string | undefined;
  /**
   * Reads the body, at most this many bytes.
   *
   * @throws (rejects) PageProblem 413 for a longer one, 400 for one that was already read.
   */
  body(maxBytes: number): Promise<unknown>;
  /** The request of the framework, for `authorize`. */
  readonly native: unknown;
}

/** A response of the page. */
export interface PageResponse {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An error that the client receives. */
export class PageProblem extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, fields: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.fields = fields;
  }
}

/** Header fields of every response: it must not be cached, framed, or read by another site. */
const COMMON = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function respond(
  status: number,
  type: string,
  body: string,
  fields: Readonly<Record<string, string>> = {},
): PageResponse {
  return { status, fields: { ...COMMON, 'content-type': type, ...fields }, body };
}

/** An error as problem details (RFC 9457). */
export function respondProblem({ status, message, fields }: PageProblem): PageResponse {
  const problem = { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail: message };
  return respond(status, 'application/problem+json', JSON.stringify(problem), fields);
}

/**
 * Reads a body in chunks.
 *
 * @throws (rejects) PageProblem 413 if it is longer, 400 if it is not JSON.
 */
export async function readJson(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<unknown> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) {
      const text = `the body has more than ${String(maxBytes)} bytes; nothing was done`;
      throw new PageProblem(413, text, { connection: 'close' });
    }
    read.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(read).toString()) as unknown;
  } catch {
    throw new PageProblem(400, 'the body must be JSON; nothing was done');
  }
}
