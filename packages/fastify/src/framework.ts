import { fieldText, userIdOf, type Framework } from '@sluice/core/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How Fastify 5 is read and answered. */
export const framework: Framework<FastifyRequest, FastifyReply> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => request.routeOptions.url,
  header: (request, name) => fieldText(request.headers[name]),
  user: (request) => userIdOf((request as { user?: unknown }).user),
  rawRequest: (request) => request.raw,
  rawResponse: (reply) => reply.raw,
  getHeader: (reply, name) => fieldText(reply.getHeader(name)),
  setHeader: (reply, name, value) => {
    void reply.header(name, value);
  },
  removeHeader: (reply, name) => {
    void reply.removeHeader(name);
  },
  setStatus: (reply, status) => {
    void reply.code(status);
  },
  // As bytes: to the type of a text, Fastify adds a charset.
  send: (reply, body) => {
    void reply.send(Buffer.from(body));
  },
  answerWith: (reply, value) => {
    if (!reply.sent) void reply.send(value);
  },
  record: (request, info) => {
    request.rateLimit = info;
  },
  proxyTrust: (request) => trustOf(request.server),
};

/** The option `trustProxy`, which Fastify keeps under a symbol: where that is not to be found, nothing is known. */
function trustOf(app: FastifyInstance): unknown {
  for (let at: object | null = app; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options');
    if (symbol !== undefined) return (at as Record<symbol, { trustProxy?: unknown } | undefined>)[symbol]?.trustProxy;
  }
  return undefined;
}
