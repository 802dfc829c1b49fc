import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import type { Bodies } from './bodies.ts';
import type { TlsSettings } from './certificates.ts';
import { answerClientErrors } from './client-errors.ts';
import type { Clients } from './clients.ts';
import { drainServer } from './drain.ts';
import { RequestProblem } from './request-problem.ts';

/** The handler of a path, or of every path below it. */
export interface Route {
  /** `/metrics`, or `/auth/` for every path that begins so; `/` is a path alone. */
  readonly path: string;
  /** Undefined: every method. `GET` takes HEAD, too, whose answer Node sends without its body. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** Whether it is given the body. */
  readonly readsBody?: boolean;
  /** Whether it is answered also while `maxInFlight` requests run: a full service lives. */
  readonly isAlwaysServed?: boolean;
  /** Called before the body is read. @throws RequestProblem for a request that is not served. */
  readonly check?: (request: IncomingMessage) => void;
  /** May throw, or reject with, a RequestProblem, which is sent. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void | Promise<void>;
}

export interface HttpOptions {
  readonly tls?: TlsSettings | undefined;
  /** Requests that are handled at once at most; beyond that they get 503 without any work. */
  readonly maxInFlight: number;
  readonly clients: Clients;
  readonly bodies: Bodies;
}

/** A server that is made, and does not listen yet. */
export interface Made {
  readonly server: Server | NetServer;
  /** Accepts no more connections, answers what runs, and ends what is left after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

const SETTINGS = {
  // Above what gateways accept from their clients, so that no client causes an error between its gateway and the service.
  maxHeaderSize: 65_536,
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  // Above the idle time of the usual gateways (nginx 60 s), so that the gateway closes first.
  keepAliveTimeout: 75_000,
  noDelay: true,
};
/** How long a client may leave its answer unread. */
const UNREAD_MS = 30_000;
const HANDSHAKE_MS = 10_000;
/** A client that has just opened a connection, or has just been answered over one, may be about to send. */
const UNUSED_MS = 500;
const NO_BODY = Buffer.alloc(0);

/** A server of HTTP/1.1 over routes. Requests are bounded in bytes and in time. */
export function serveHttp(routes: readonly Route[], { tls, maxInFlight, clients, bodies }: HttpOptions): Made {
  const running = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const exact = new Map(routes.map((route) => [route.path, route]));
  const below = routes.filter(({ path }) => path.length > 1 && path.endsWith('/'));
  let isClosing = false;
  let inFlight = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [path = '/'] = (request.url ?? '/').split(/[?#]/, 1);
    const route = exact.get(path) ?? below.find((one) => path.startsWith(one.path));
    if (route === undefined) {
      const known = routes.map((one) => one.path).join(', ');
      throw new RequestProblem(404, `there is nothing at ${path}; known: ${known}`);
    }
    checkMethod(route, request.method);
    route.check?.(request);
    const body = route.readsBody === true ? await bodies.read(request) : NO_BODY;
    if (inFlight >= maxInFlight && route.isAlwaysServed !== true) {
      const detail = 'the service is overloaded; nothing was done';
      throw new RequestProblem(503, detail, {}, { 'retry-after': '1' });
    }
    // Until it is handled, not until its client has read the answer.
    inFlight++;
    try {
      const handled = route.handle(request, response, body);
      if (handled !== undefined) await handled;
    } finally {
      inFlight--;
    }
  };
  const ended = function (this: ServerResponse): void {
    running.delete(this);
  };
  const listener: RequestListener = (request, response) => {
    running.add(response);
    response.on('close', ended);
    if (isClosing) response.setHeader('connection', 'close');
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else if (error instanceof RequestProblem) error.send(response);
      else new RequestProblem(500, 'the service failed to answer').send(response);
    });
  };
  const server =
    tls === undefined
      ? createServer(SETTINGS, listener)
      : createSecureServer(
          { ...SETTINGS, ...tls, handshakeTimeout: HANDSHAKE_MS, rejectUnauthorized: tls.requestCert },
          listener,
        );
  server.timeout = UNREAD_MS;
  clients.boundConnections(server);
  answerClientErrors(server);
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  return {
    server,
    // Every response is now the last one of its connection, and says so: an idle connection that simply ended could have
    // a request on its way.
    close: async (drainMs) => {
      isClosing = true;
      for (const response of running) if (!response.headersSent) response.setHeader('connection', 'close');
      const timer = setTimeout(() => {
        server.closeIdleConnections();
        // Node takes those for busy over which nothing has come.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroySoon();
      }, UNUSED_MS);
      await drainServer(server, drainMs, () => {
        server.closeAllConnections();
      });
      clearTimeout(timer);
    },
  };
}

/** @throws RequestProblem 405. */
function checkMethod({ method, path }: Route, given: string | undefined): void {
  if (method === undefined || given === method || (method === 'GET' && given === 'HEAD')) return;
  const allow = method === 'GET' ? 'GET, HEAD' : method;
  throw new RequestProblem(405, `${path} takes ${allow}, got ${String(given)}`, {}, { allow });
}
