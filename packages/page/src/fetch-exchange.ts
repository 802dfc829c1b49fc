import type { PageRequest, PageResponse } from './exchange.ts';
import { parseJson, tooLong } from './node-exchange.ts';

/** A request of a fetch handler. */
export function fetchRequest(request: Request, base: string | undefined): PageRequest {
  return {
    method: request.method,
    url: new URL(request.url).pathname,
    base,
    native: request,
    header: (name) => request.headers.get(name) ?? undefined,
    body: async (longest) => readBody(request, longest),
  };
}

/** The same response as a `Response`. */
export function fetchResponse({ status, fields, body = '', stream }: PageResponse): Response {
  const headers = new Headers(fields);
  headers.delete('connection'); // the runtime's own
  return new Response(stream === undefined ? body : streamOf(stream), { status, headers });
}

function streamOf(stream: NonNullable<PageResponse['stream']>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop: (() => void) | undefined;
  return new ReadableStream<Uint8Array>(
    {
      // Once it is read: a response to a client that has left never is.
      pull(controller) {
        stop ??= stream(
          (text) => {
            if ((controller.desiredSize ?? 0) > -100) controller.enqueue(encoder.encode(text));
          },
          () => {
            controller.close();
          },
        );
      },
      cancel() {
        stop?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function readBody(request: Request, longest: number): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > longest) throw tooLong(longest);
    text += decoder.decode(chunk, { stream: true });
  }
  return parseJson(text + decoder.decode());
}
