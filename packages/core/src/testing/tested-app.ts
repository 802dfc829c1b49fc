import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { shown } from '../errors.ts';

/** A fetch handler: of `@sluice/web`, or a route of Next.js. */
export type FetchHandler = (request: Request) => Response | Promise<Response>;
/** A `node:http` handler: an Express application, or a function of request and response. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An application that a test starts on a free port of 127.0.0.1, unless it already listens, and stops again. */
export type TestedApp =
  | string
  | URL
  | Pick<Server, 'listen' | 'address' | 'close'>
  | NodeHandler
  | FetchHandler
  /** Koa. */
  | { callback(): NodeHandler }
  /** Fastify. */
  | { ready(): PromiseLike<unknown>; routing: NodeHandler }
  /** NestJS, on Express or Fastify. */
  | { init(): Promise<unknown>; getHttpAdapter(): { getInstance(): unknown } }
  /** Hono, and what Bun and Deno serve. */
  | { fetch: (request: Request, ...rest: never[]) => Response | Promise<Response> };

/** An application that answers requests. */
export interface ServedApp {
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
  readonly close: () => void;
}

/** @throws TypeError for anything but an application. */
export async function serve(app: TestedApp): Promise<ServedApp> {
  if (typeof app === 'string' || app instanceof URL) return serveAt(new URL(app));
  // A fetch handler has one parameter; a node:http handler or an Express application has two or three.
  if (typeof app === 'function')
    return app.length < 2 ? callFetch(app as FetchHandler) : serveServer(createServer(app as RequestListener));
  if (has(app, 'listen', 'address')) return serveServer(app as Server);
  if (has(app, 'init', 'getHttpAdapter')) {
    await app.init();
    return serve(app.getHttpAdapter().getInstance() as TestedApp);
  }
  if (has(app, 'ready', 'routing')) {
    await app.ready();
    return serveServer(createServer((request, response) => void app.routing(request, response)));
  }
  if (has(app, 'callback')) return serveServer(createServer(app.callback()));
  if (has(app, 'fetch')) return callFetch((request, ...beside) => app.fetch(request, ...beside));
  const expected = 'an Express, Koa, Fastify, NestJS or Hono application, a node:http server, a handler, or a URL';
  throw new TypeError(`expectLimited takes ${expected}, got ${shown(app)}`);
}

function has<Name extends string>(app: unknown, ...names: Name[]): app is Extract<TestedApp, Record<Name, unknown>> {
  return names.every((name) => typeof (app as Partial<Record<Name, unknown>> | null)?.[name] === 'function');
}

function serveAt(base: URL, close = (): void => undefined): ServedApp {
  return { send: (path, init) => fetch(new URL(path, base), { redirect: 'manual', ...init }), close };
}

/** A server that already listens is used as it is, and stays open. */
async function serveServer(server: Server): Promise<ServedApp> {
  const isOpen = server.address() !== null;
  if (!isOpen) await once(server.listen(0, '127.0.0.1'), 'listening');
  const { address, port, family } = server.address() as AddressInfo;
  const host = /^(::|0\.0\.0\.0)$/.test(address) ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return serveAt(new URL(`http://${host}:${String(port)}`), () => {
    if (isOpen) return;
    server.close();
    server.closeAllConnections();
  });
}

/** The second argument of a handler, as passed by Bun, Deno and `@hono/node-server`: it has the client's address. */
const BESIDE = {
  requestIP: () => ({ address: '127.0.0.1', family: 'IPv4', port: 0 }),
  remoteAddr: { transport: 'tcp', hostname: '127.0.0.1', port: 0 },
  incoming: { socket: { remoteAddress: '127.0.0.1' } },
};

function callFetch(handler: (request: Request, beside: never) => Response | Promise<Response>): ServedApp {
  return {
    send: async (path, init) => handler(new Request(new URL(path, 'http://localhost'), init), BESIDE as never),
    close: () => undefined,
  };
}
