import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A handler of fetch: of `@sluice/web`, a route of Next.js. */
export type FetchHandler = (request: Request) => Response | Promise<Response>;
/** A handler of `node:http`: an Express application, or a function of request and response. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * An application for the test, which starts it where it does not run yet, on a free port of 127.0.0.1, and stops it
 * again.
 */
export type TestedApp =
  | string
  | URL
  | Pick<Server, 'listen' | 'address' | 'close'>
  | NodeHandler
  | FetchHandler
  /** Koa. */
  | { callback(): NodeHandler }
  /** Fastify. */
  | { ready(): PromiseLike<unknown>; routing(request: IncomingMessage, response: ServerResponse): void }
  /** NestJS, on Express or Fastify. */
  | { init(): Promise<unknown>; getHttpAdapter(): { getInstance(): unknown } }
  /** Hono, and what Bun and Deno serve. */
  | { fetch: (request: Request, ...rest: never[]) => Response | Promise<Response> };

/** An application that answers requests. */
export interface ServedApp {
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** @throws TypeError for what is no application. */
export async function serve(app: TestedApp): Promise<ServedApp> {
  if (typeof app === 'string' || app instanceof URL) return at(urlOf(app));
  if (typeof app === 'function') {
    // A handler of fetch has one parameter; one of node:http, and an Express application, two or three.
    return app.length < 2 ? inProcess(app as FetchHandler) : listening(createServer(explaining(app as NodeHandler)));
  }
  if (has(app, 'listen', 'address')) return onServer(app as Server);
  if (has(app, 'init', 'getHttpAdapter')) return ofNest(app);
  if (has(app, 'ready', 'routing')) {
    await app.ready();
    return listening(
      createServer((request, response) => {
        app.routing(request, response);
      }),
    );
  }
  if (has(app, 'callback')) return listening(createServer(app.callback()));
  if (has(app, 'fetch')) return inProcess((request, ...beside) => app.fetch(request, ...beside));
  throw new TypeError(
    'expectLimited takes an Express, Koa, Fastify, NestJS or Hono application, a node:http server, a handler, or a URL, ' +
      `got ${(app as unknown) === null ? 'null' : typeof app}`,
  );
}

function has<Name extends string>(
  app: unknown,
  ...names: readonly Name[]
): app is Extract<TestedApp, Record<Name, unknown>> {
  return names.every((name) => typeof (app as Partial<Record<Name, unknown>> | null)?.[name] === 'function');
}

async function ofNest(app: {
  init(): Promise<unknown>;
  getHttpAdapter(): { getInstance(): unknown };
}): Promise<ServedApp> {
  await app.init();
  return serve(app.getHttpAdapter().getInstance() as TestedApp);
}

/** A server that listens already is used as it is, and stays open. */
async function onServer(server: Server): Promise<ServedApp> {
  const address = server.address();
  if (address === null) return listening(server);
  if (typeof address === 'string') throw new TypeError(`expectLimited needs a server on a port, got one on ${address}`);
  const isAny = address.address === '::' || address.address === '0.0.0.0';
  const host = isAny ? '127.0.0.1' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return at(new URL(`http://${host}:${String(address.port)}`));
}

async function listening(server: Server): Promise<ServedApp> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { send } = at(new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`));
  return {
    send,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function urlOf(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new TypeError(`expectLimited takes a URL such as http://127.0.0.1:3000, got ${String(text)}`);
}

function at(base: URL): ServedApp {
  return {
    send: (path, init) => fetch(new URL(path, base), { redirect: 'manual', ...init }),
    close: () => Promise.resolve(),
  };
}

function inProcess(handler: (request: Request, beside: never) => Response | Promise<Response>): ServedApp {
  return {
    send: async (path, init) => {
      const answer: unknown = await handler(new Request(new URL(path, 'http://localhost'), init), BESIDE as never);
      if (answer instanceof Response) return answer;
      throw new TypeError(
        `expectLimited takes this for a handler of fetch, which returns a Response, got ${typeof answer}; a handler of node:http has two parameters`,
      );
    },
    close: () => Promise.resolve(),
  };
}

/** The second argument of a handler, as by Bun, by Deno, and by `@hono/node-server`: it tells the client's address. */
const BESIDE = {
  requestIP: () => ({ address: '127.0.0.1', family: 'IPv4', port: 0 }),
  remoteAddr: { transport: 'tcp', hostname: '127.0.0.1', port: 0 },
  incoming: { socket: { remoteAddress: '127.0.0.1' } },
};

/** The same handler; what it throws, or a Response that it returns, is answered with 500 and what to write. */
function explaining(handler: NodeHandler): NodeHandler {
  return async (request, response) => {
    let wrong: string | undefined;
    try {
      const returned = await handler(request, response);
      if (returned instanceof Response) wrong = 'it returned a Response';
    } catch (error) {
      wrong = `it threw ${String(error)}`;
    }
    if (wrong === undefined || response.headersSent) return;
    response.statusCode = 500;
    response.end(`The handler was called as one of node:http, because it has two parameters, and ${wrong}. ${FETCH}`);
  };
}

const FETCH = 'Pass a handler of fetch as { fetch: handler }.';
