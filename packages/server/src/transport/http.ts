import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import { readBody } from './bodies.ts';
import type { TlsSettings } from './certificates.ts';
import { answerClientErrors } from './client-errors.ts';
import type { Clients } from './clients.ts';
import { drainServer } from './drain.ts';
import { RequestProblem } from './request-problem.ts';

/** The handler of a path, or of every path below it. */
export interface Route {
  /** `/metrics`, or `/auth/` for every path that begins with it; `/` is just that path. */
  readonly path: string;
  /** Undefined: every method. `GET` includes HEAD, whose answer Node sends without its body. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** Whether it receives the body. */
  readonly readsBody?: boolean;
  /** Whether it is answered even while `maxInFlight` requests run: a busy service is healthy. */
  readonly isAlwaysServed?: boolean;
  /** Called before the body is read. @throws RequestProblem for a request that is not served. */
  readonly check?: (request: IncomingMessage) => void;
  /** May throw, or reject with, a RequestProblem, which is sent. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void | Promise<void>;
}

export interface HttpOptions {
  readonly tls?: TlsSettings | undefined;
  /** The maximum number of concurrent requests; others get 503 without any work. */
  readonly maxInFlight: number;
  readonly clients: Clients;
}

/** A server that does not listen yet. */
export interface Made {
  readonly server: Server | NetServer;
  /** Accepts no more connections, answers running requests, and ends the rest after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

const SETTINGS = {
  // More than gateways accept from their clients, so that no client causes an error between its gateway and the
  // service.
  maxHeaderSize: 65_536,
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  // Longer than the idle timeout of common gateways (nginx: 60 s), so that the gateway closes first.
  keepAliveTimeout: 75_000,
  noDelay: true,
};
/** How long a client may leave its answer unread. */
const UNREAD_MS = 30_000;
const HANDSHAKE_MS = 10_000;
/** Requests of a connection that are unanswered, or came in this turn, at most: gateways send one after the other. */
const MAX_PIPELINED = 100;
/** A client that has just opened a connection, or just received an answer on it, may be about to send. */
const UNUSED_MS = 500;
const NO_BODY = Buffer.alloc(0);

/** An HTTP/1.1 server for these routes. Requests are bounded in bytes and in time. */
export function serveHttp(routes: readonly Route[], { tls, maxInFlight, clients }: HttpOptions): Made {
  const running = new Set<ServerResponse>();
  /** For each connection its requests that are unanswered, or came in this turn of the event loop. */
  const sockets = new Map<Socket, number>();
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
    const body = route.readsBody === true ? await readBody(request, clients) : NO_BODY;
    if (inFlight >= maxInFlight && route.isAlwaysServed !== true) {
      const detail = 'the service is overloaded; nothing was done';
      throw new RequestProblem(503, detail, {}, { 'retry-after': '1' });
    }
    // Counts until the request is handled, not until its client has read the answer.
    inFlight++;
    try {
      const handled = route.handle(request, response, body);
      if (handled !== undefined) await handled;
    } finally {
      inFlight--;
    }
  };
  const leave = (socket: Socket): void => {
    const requests = sockets.get(socket);
    if (requests !== undefined) sockets.set(socket, requests - 1);
  };
  const ended = function (this: ServerResponse): void {
    running.delete(this);
    setImmediate(leave, this.req.socket);
  };
  const listener: RequestListener = (request, response) => {
    const { socket } = request;
    const requests = (sockets.get(socket) ?? 0) + 1;
    // Node hands over in one turn all that has come, thousands of requests: others would wait for seconds.
    if (requests > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    sockets.set(socket, requests);
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
    sockets.set(socket, 0);
    socket.once('close', () => sockets.delete(socket));
  });

  return {
    server,
    // Every response is now the last one of its connection and says so, because an idle connection that simply ended
    // could have a request on its way.
    close: async (drainMs) => {
      isClosing = true;
      for (const response of running) if (!response.headersSent) response.setHeader('connection', 'close');
      const timer = setTimeout(() => {
        server.closeIdleConnections();
        // Node takes those for busy over which nothing has come.
        for (const socket of sockets.keys()) if (socket.bytesRead === 0) socket.destroySoon();
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
