import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { RunningApp } from '@sluice/testkit/contract';
import { errorResponse, type Fetch } from './fetch-app.ts';

/** Of `@hono/node-server`, whose own types need those of browsers. */
interface NodeServer {
  getRequestListener(
    fetch: Fetch,
    options: { readonly overrideGlobalObjects: boolean; readonly errorHandler: (error: unknown) => Response },
  ): (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => Promise<void>;
}

const nodeServer: string = '@hono/node-server';
const { getRequestListener } = (await import(nodeServer)) as NodeServer;

/** Serves a fetch handler on a port of 127.0.0.1 by the bridge that Hono uses on Node, over HTTP/1 or HTTP/2. */
export async function serve(
  fetch: Fetch,
  { isHttp2 = false, overrides = false }: { readonly isHttp2?: boolean; readonly overrides?: boolean } = {},
): Promise<RunningApp> {
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: overrides,
    errorHandler: errorResponse,
  });
  const onRequest = (...exchange: Parameters<typeof listener>): void => void listener(...exchange);
  const server: Server | Http2Server = isHttp2 ? createHttp2Server(onRequest) : createServer(onRequest);
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const session of sessions) session.destroy();
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
