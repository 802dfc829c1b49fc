import { exposeFields } from '@sluice/old-http/spi';
import { addFields } from './add-fields.ts';
import type { Exchange } from './exchange.ts';
import { followBody } from './follow-body.ts';

/** Ends an exchange with the response of its handler: adds what the limiters have set. */
export function conclude(exchange: Exchange, response: Response): Response {
  return send(exchange, addFields(response, exchange.fields));
}

/** Ends an exchange with a response that has all its fields, and follows the body if anything waits for its end. */
export function send(exchange: Exchange, response: Response): Response {
  exchange.isOpen = false;
  if (exchange.exposes && exchange.fields.length > 0 && response.status >= 200) {
    exposeFields(
      onHeaders,
      response.headers,
      exchange.fields.map(([name]) => name).filter((name) => !NOT_OURS.has(name)),
    );
  }
  if (!exchange.isAwaited) return response;
  exchange.response = response;
  exchange.statusCode = response.status;
  return followBody(response, exchange);
}

/** Ends an exchange without a response, such as one that Bun has upgraded, or whose handler threw. */
export function concludeWithout(exchange: Exchange, status: number): void {
  exchange.isOpen = false;
  if (!exchange.isAwaited) return;
  exchange.response = new Response(null, { status });
  exchange.statusCode = status;
  exchange.finish();
}

/** The status that the caller of a handler sends for its error. */
export function statusOf(error: unknown): number {
  const { status } = (typeof error === 'object' && error !== null ? error : {}) as { readonly status?: unknown };
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : 500;
}

const NOT_OURS: ReadonlySet<string> = new Set(['Content-Type', 'Access-Control-Expose-Headers']);

const onHeaders = {
  getHeader: (headers: Headers, name: string): string | undefined => headers.get(name) ?? undefined,
  setHeader: (headers: Headers, name: string, value: string): void => {
    headers.set(name, value);
  },
};
