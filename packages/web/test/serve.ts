import type { RequestListener } from 'node:http';
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { listen, type Listening } from '@sluice/testkit/contract';
import { errorResponse, type Fetch } from './fetch-app.ts';

/** Of `@hono/node-server`, whose own types need those of browsers. */
interface NodeServer {
  getRequestListener(
    fetch: Fetch,
    options: object,
  ): RequestListener & ((request: Http2ServerRequest, response: Http2ServerResponse) => void);
}

const nodeServer: string = '@hono/node-server';
const { getRequestListener } = (await import(nodeServer)) as NodeServer;

/** Serves a fetch handler on a port of 127.0.0.1 by the bridge that Hono uses on Node, over HTTP/1 or HTTP/2. */
export async function serve(
  fetch: Fetch,
  { isHttp2 = false, overrides = false }: { readonly isHttp2?: boolean; readonly overrides?: boolean } = {},
): Promise<Listening> {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: overrides, errorHandler: errorResponse });
  return listen(isHttp2 ? createHttp2Server(listener) : listener);
}
