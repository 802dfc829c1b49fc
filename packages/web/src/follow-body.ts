import { copyOf } from './add-fields.ts';
import type { Exchange } from './exchange.ts';

/** Ends the exchange when the body of its response has been read or cancelled. Reads no more than is asked for. */
export function followBody(response: Response, exchange: Exchange): Response {
  const body = response.status < 200 || exchange.incoming.method === 'HEAD' ? null : response.body;
  if (body === null || body.locked) {
    exchange.finish();
    return response;
  }
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  const followed = new ReadableStream(
    {
      async pull(controller) {
        try {
          const next = await reader.read();
          if (next.done) {
            controller.close();
            exchange.finish();
          } else {
            controller.enqueue(next.value);
          }
        } catch (error) {
          controller.error(error);
          exchange.cut();
        }
      },
      async cancel(reason) {
        exchange.cut();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return copyOf(response, followed);
}
