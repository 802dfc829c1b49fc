import type { IncomingMessage, ServerResponse } from 'node:http';
import { PageProblem, type PageRequest, type PageResponse } from './exchange.ts';

/** What a middleware before the page may have added to a request. */
export interface NodeRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
}

/** Bytes that wait for a slow page, beyond which it gets no further ones. */
const MOST_WAITING = 1_048_576;

/** A request of Node.js, and of frameworks that stand on it. */
export function nodeRequest(
  request: NodeRequest,
  native: unknown,
  base: string | undefined,
  url?: string,
): PageRequest {
  return {
    method: request.method ?? 'GET',
    url: url ?? request.originalUrl ?? request.url ?? '/',
    base,
    native,
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: (longest) => readBody(request, longest),
  };
}

/** Writes a response. */
export function writeToNode(answer: PageResponse, response: ServerResponse): void {
  const { status, fields, body = '', stream } = answer;
  if (stream === undefined) {
    response.writeHead(status, { ...fields, 'content-length': Buffer.byteLength(body) });
    response.end(body);
    return;
  }
  if (response.destroyed) return; // the client has left while it was asked who it is, and no event would end the stream
  response.writeHead(status, fields);
  response.on(
    'close',
    stream(
      (text) => {
        if (response.writableLength < MOST_WAITING) response.write(text);
      },
      () => response.end(),
    ),
  );
}

/** A body that a middleware has read. */
function parsedBody(body: unknown): unknown {
  if (typeof body === 'object') return body;
  throw new PageProblem(400, 'the body was read before, and not as JSON; nothing was done');
}

async function readBody(request: NodeRequest, longest: number): Promise<unknown> {
  if (request.body !== undefined) return parsedBody(request.body);
  if (Number(request.headers['content-length'] ?? 0) > longest) throw tooLong(longest);
  if (request.readableEnded) throw new PageProblem(400, 'the body was read before; nothing was done');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > longest) throw tooLong(longest);
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString());
}

export function tooLong(longest: number): PageProblem {
  return new PageProblem(413, `the body has more than ${String(longest)} bytes; nothing was done`, {
    connection: 'close',
  });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new PageProblem(400, 'the body must be JSON; nothing was done');
  }
}
