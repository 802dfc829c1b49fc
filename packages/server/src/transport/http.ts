import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { answerClientErrors } from './client-errors.ts';
import { trackResponses } from './last-responses.ts';
import { RequestProblem } from './request-problem.ts';
import { sendProblem } from './send.ts';
import { trackConnections } from './unused-connections.ts';

/** The handler of a path, or of every path below it. */
export interface Route {
  /** `/auth`, or `/v1/` for every path that begins so. */
  readonly path: string;
  /** Undefined: every method. `GET` takes HEAD, too, whose answer Node sends without its body. */
  readonly method?: 'GET' | 'POST';
  /** May throw, or reject with, a RequestProblem, which is sent. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
}

export interface HttpListenerOptions {
  readonly tls?: (SecureContextOptions & { readonly requestCert?: boolean }) | undefined;
  /** Requests that are handled at once at most; beyond that they get 503 without any work. */
  readonly maxInFlight: number;
}

/**
 * Above what gateways accept from their clients, so that no client causes an error between its gateway and the service.
 */
const HEADER_BYTES = 65_536;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
/** Above the idle time of the usual gateways (nginx 60 s), so that the gateway closes first. */
const IDLE_MS = 75_000;

/** A server of HTTP/1.1 over routes. Requests are bounded in bytes and in time. */
export function createHttpListener(routes: readonly Route[], { tls, maxInFlight }: HttpListenerOptions): Server {
  const settings = {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: IDLE_MS,
    noDelay: true,
  };
  const running = new Set<ServerResponse>();
  const listener = requestListener(routes, running, maxInFlight);
  const server =
    tls === undefined
      ? createServer(settings, listener)
      : createSecureServer({ ...settings, ...tls, rejectUnauthorized: tls.requestCert === true }, listener);
  answerClientErrors(server);
  trackResponses(server, running);
  trackConnections(server, tls === undefined ? 'connection' : 'secureConnection');
  return server;
}

function requestListener(routes: readonly Route[], running: Set<ServerResponse>, maxInFlight: number): RequestListener {
  const exact = new Map(routes.filter(({ path }) => !path.endsWith('/')).map((route) => [route.path, route]));
  const below = routes.filter(({ path }) => path.endsWith('/'));
  const closed = function (this: ServerResponse): void {
    running.delete(this);
  };
  return (request, response) => {
    if (running.size >= maxInFlight) {
      sendProblem(response, 503, 'Service Unavailable', 'the service has as many requests as it takes', {
        'retry-after': '1',
      });
      return;
    }
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
      answer(route, request, response);
    }
  };
}

function takes({ method }: Route, asked: string | undefined): boolean {
  return method === undefined || asked === method || (method === 'GET' && asked === 'HEAD');
}

function answer(route: Route, request: IncomingMessage, response: ServerResponse): void {
  const failed = (error: unknown): void => {
    if (response.headersSent) response.destroy();
    else if (error instanceof RequestProblem) error.send(response);
    else sendProblem(response, 500, 'Internal Server Error', 'the service failed to answer');
  };
  try {
    const pending = route.handle(request, response);
    if (pending instanceof Promise) pending.catch(failed);
  } catch (error) {
    failed(error);
  }
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
