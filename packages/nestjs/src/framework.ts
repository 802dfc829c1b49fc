import { NO_RESPONSE, besideRequests, fieldText, userIdOf, type Framework } from '@sluice/core/http';
import { rawRequestOf, record, type FoundRequest, type NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import type { NodeResponse } from './raw-reply.ts';
import { routeTemplate } from './route-template.ts';

/** A response that Fastify has made of Node's own. */
interface Wrapped extends NestResponse {
  readonly raw: NodeResponse;
}

/** Both platforms, on HTTP. */
export const httpFramework: Framework<NestRequest, NestResponse> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => routeTemplate(request),
  header: (request: FoundRequest, name) => fieldText(request.headers?.[name]),
  user: (request) => userIdOf(request.user) ?? userIdOf((request as FoundRequest).raw?.user),
  rawRequest: rawRequestOf,
  sightings: besideRequests, // those of Express, most of the time
  rawResponse: nodeResponseOf,
  getHeader: (response, name) => fieldText(response.getHeader(name)),
  setHeader: (response, name, value) => {
    if (isNode(response)) response.setHeader(name, value);
    else response.header(name, value);
  },
  removeHeader: (response, name) => {
    response.removeHeader(name);
    nodeResponseOf(response).removeHeader(name); // where Fastify keeps those of middleware
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    if (isNode(response)) response.end(body);
    // As bytes: to the type of a text, Fastify adds a charset.
    else response.send(Buffer.from(body));
  },
  // As Nest sends what handlers return: on Express a number as a text.
  answerWith: (response, value) => {
    const raw = nodeResponseOf(response);
    if (value === raw || raw.headersSent || raw.writableEnded) return; // onDenied has answered by itself, or goes on to
    const isText = isNode(response) && (typeof value === 'number' || typeof value === 'boolean');
    response.send(isText ? String(value) : value);
  },
  record,
  proxyTrust: (request) => {
    const { app, server } = request as FoundRequest;
    return app === undefined ? server && trustOfFastify(server) : app.get('trust proxy fn');
  },
};

/**
 * Both platforms ahead of routing, where Fastify's middleware has Node's own request, which knows of no application.
 *
 * @param platform - The application, once it is asked for.
 */
export function middlewareFramework(platform: () => object | undefined): Framework<NestRequest, NestResponse> {
  return {
    ...httpFramework,
    proxyTrust: (request) => {
      const app = platform();
      return httpFramework.proxyTrust?.(request) ?? (app && trustOfFastify(app));
    },
  };
}

/**
 * What is neither Express nor Fastify: GraphQL, WebSockets, messages. Nothing is written, and each call counts, also of
 * several on one request.
 *
 * @param place - The handler, in place of a route.
 */
export function executionFramework(place: string): Framework<NestRequest, NestResponse> {
  return {
    ...httpFramework,
    address: (request) => request.ip ?? rawRequestOf(request).socket?.remoteAddress,
    method: (request) => (request as FoundRequest).method ?? '',
    route: () => place,
    rawRequest: (request) => ({ socket: rawRequestOf(request).socket ?? null }),
    // Where there is no response, there is none to wait for.
    rawResponse: (response: NestResponse | undefined) =>
      response === undefined ? NO_RESPONSE : httpFramework.rawResponse(response),
  };
}

/** Whether a response is Node's own, as those of Express are: made to do more, but not wrapped. */
function isNode(response: NestResponse): response is NestResponse & NodeResponse {
  return (response as Partial<Wrapped>).raw === undefined;
}

function nodeResponseOf(response: NestResponse): NodeResponse {
  return isNode(response) ? response : (response as Wrapped).raw;
}

/** The option `trustProxy`, which Fastify keeps under a symbol: where that is not to be found, nothing is known. */
function trustOfFastify(app: object): unknown {
  for (let at: object | null = app; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options');
    if (symbol !== undefined) return (at as Record<symbol, { trustProxy?: unknown } | undefined>)[symbol]?.trustProxy;
  }
  return undefined;
}
