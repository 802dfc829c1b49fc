import type { Framework } from '@sluice/core/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How Fastify 5 is read and answered. */
export const framework: Framework<FastifyRequest, FastifyReply> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => request.routeOptions.url,
  header: (request, name) => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  },
  user: (request) => {
    const { user } = request as { user?: { id?: string | number; sub?: string | number } | null };
    return user?.id ?? user?.sub;
  },
  rawRequest: (request) => request.raw,
  rawResponse: (reply) => reply.raw,
  getHeader: (reply, name) => {
    const value = reply.getHeader(name);
    return Array.isArray(value) ? value.join(', ') : value?.toString();
  },
  setHeader: (reply, name, value) => {
    void reply.header(name, value);
  },
  setStatus: (reply, status) => {
    void reply.code(status);
  },
  // As bytes: to the type of a text, Fastify adds a charset.
  send: (reply, body) => {
    void reply.send(Buffer.from(body));
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
