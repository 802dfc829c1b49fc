import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { answerClientErrors } from './client-errors.ts';
import { areSame, Connections } from './connections.ts';
import { trackResponses } from './last-responses.ts';
import { Places } from './places.ts';
import { RequestProblem } from './request-problem.ts';
import { sendProblem } from './send.ts';
import { trackConnections } from './unused-connections.ts';

/** The handler of a path, or of every path below it. */
export interface Route {
  /** `/auth`, or `/v1/` for every path that begins so; `/` is a path alone. */
  readonly path: string;
  /** Undefined: every method. `GET` takes HEAD, too, whose answer Node sends without its body. */
  readonly method?: 'GET' | 'POST';
  /**
   * When a request takes one of the places of `maxInFlight`: `at once` (default) where it needs no body; `whole` where
   * `handle` takes one with its third argument; `never` where the answer is at hand.
   */
  readonly place?: 'at once' | 'whole' | 'never';
  /** May throw, or reject with, a RequestProblem, which is sent. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, takePlace: TakePlace) => void | Promise<void>;
}

/**
 * Takes a place for a request that is whole.
 *
 * @throws RequestProblem 503 where there is none.
 */
export type TakePlace = (response: ServerResponse) => void;

export interface HttpListenerOptions {
  readonly tls?: (SecureContextOptions & { readonly requestCert?: boolean }) | undefined;
  /** Requests that are handled at once at most; beyond that they get 503 without any work. */
  readonly maxInFlight: number;
  /** Those of the process. Default: those of this listener alone. */
  readonly connections?: Connections | undefined;
}

/**
 * Above what gateways accept from their clients, so that no client causes an error between its gateway and the service.
 */
const HEADER_BYTES = 65_536;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
/** How often Node looks for requests that have taken longer. */
const LOOK_MS = 2_000;
const HANDSHAKE_MS = 10_000;
/** Above the idle time of the usual gateways (nginx 60 s), so that the gateway closes first. */
const IDLE_MS = 75_000;

/** A server of HTTP/1.1 over routes. Requests are bounded in bytes and in time. */
export function createHttpListener(
  routes: readonly Route[],
  { tls, maxInFlight, connections = new Connections() }: HttpListenerOptions,
): Server {
  const settings = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: LOOK_MS,
    keepAliveTimeout: IDLE_MS,
    noDelay: true,
  };
  const running = new Set<ServerResponse>();
  const listener = requestListener(routes, running, { places: new Places(maxInFlight), connections });
  const server =
    tls === undefined
      ? createServer(settings, listener)
      : createSecureServer(
          { ...settings, ...tls, handshakeTimeout: HANDSHAKE_MS, rejectUnauthorized: tls.requestCert === true },
          listener,
        );
  server.timeout = REQUEST_MS; // of a client that does not read its answer
  connections.follow(server, (socket) => {
    endWithAnswer(socket, running);
  });
  answerClientErrors(server);
  trackResponses(server, running);
  trackConnections(server, tls === undefined ? 'connection' : 'secureConnection');
  return server;
}

function requestListener(
  routes: readonly Route[],
  running: Set<ServerResponse>,
  { places, connections }: { readonly places: Places; readonly connections: Connections },
): RequestListener {
  const exact = new Map(routes.filter(({ path }) => !isBeginning(path)).map((route) => [route.path, route]));
  const below = routes.filter(({ path }) => isBeginning(path));
  const closed = function (this: ServerResponse): void {
    running.delete(this);
  };
  const takePlace: TakePlace = (response) => {
    places.take(response);
  };
  return (request, response) => {
    connections.served(request.socket);
    running.add(response);
    response.on('close', closed);
    const path = pathOf(request.url ?? '/');
    const route = exact.get(path) ?? below.find((one) => path.startsWith(one.path));
    if (route === undefined) {
      sendProblem(response, 404, 'Not Found', `there is nothing at ${path}; known: ${known(routes)}`);
    } else if (!takes(route, request.method)) {
      const allow = route.method === 'GET' ? 'GET, HEAD' : 'POST';
      sendProblem(response, 405, 'Method Not Allowed', `${route.path} takes ${allow}`, { allow });
    } else {
      answer(route, request, response, takePlace);
    }
  };
}

function isBeginning(path: string): boolean {
  return path.length > 1 && path.endsWith('/');
}

function takes({ method }: Route, asked: string | undefined): boolean {
  return method === undefined || asked === method || (method === 'GET' && asked === 'HEAD');
}

function answer(route: Route, request: IncomingMessage, response: ServerResponse, takePlace: TakePlace): void {
  const failed = (error: unknown): void => {
    if (response.headersSent) response.destroy();
    else if (error instanceof RequestProblem) error.send(response);
    else sendProblem(response, 500, 'Internal Server Error', 'the service failed to answer');
  };
  try {
    if (route.place === undefined || route.place === 'at once') takePlace(response);
    const pending = route.handle(request, response, takePlace);
    if (pending instanceof Promise) pending.catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** Ends a connection: with the response that runs over it, if there is one. */
function endWithAnswer(accepted: Socket, running: ReadonlySet<ServerResponse>): void {
  const own = [...running].find(({ socket }) => socket !== null && areSame(socket, accepted));
  if (own === undefined) accepted.destroy();
  else if (!own.headersSent) own.setHeader('connection', 'close');
}

const QUERY = 63;
const FRAGMENT = 35;

/** The path without the query, and no more than an error can show. */
function pathOf(url: string): string {
  for (let i = 0; i < url.length; i++) {
    const code = url.charCodeAt(i);
    if (code === QUERY || code === FRAGMENT) return url.slice(0, i);
  }
  return url;
}

function known(routes: readonly Route[]): string {
  return routes.map(({ path }) => path).join(', ');
}
