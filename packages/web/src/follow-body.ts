import { copyOf } from './add-fields.ts';
import type { Exchange } from './exchange.ts';
import { followStream } from './follow-stream.ts';

/** Ends the exchange when the body of its response has been read or cancelled. Reads no more than is asked for. */
export function followBody(response: Response, exchange: Exchange): Response {
  const body = response.status < 200 || exchange.incoming.method === 'HEAD' ? null : response.body;
  if (body === null || body.locked) {
    exchange.finish();
    return response;
  }
  const followed = followStream<Uint8Array>(body, {
    ended: () => {
      exchange.finish();
    },
    cut: () => {
      exchange.cut();
    },
  });
  return copyOf(response, followed);
}
