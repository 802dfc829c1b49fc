import { readUserId, type Framework } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Reads requests and writes responses of Fastify 5. */
export const framework: Framework<FastifyRequest, FastifyReply> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => request.routeOptions.url,
  header: (request, name) => request.headers[name],
  user: (request) => readUserId((request as { user?: unknown }).user),
  rawRequest: (request) => request.raw,
  locals: (request) => request,
  rawResponse: (reply) => reply.raw,
  getHeader: (reply, name) => reply.getHeader(name),
  setHeader: (reply, name, value) => {
    void reply.header(name, value);
  },
  removeHeader: (reply, name) => {
    void reply.removeHeader(name);
  },
  setStatus: (reply, status) => {
    void reply.code(status);
  },
  // As bytes, because Fastify adds a charset to the content type of a string.
  send: (reply, body) => {
    void reply.send(Buffer.from(body));
  },
  answerWith: (reply, value) => {
    if (!reply.sent) void reply.send(value);
  },
  record: (request, info) => {
    request.rateLimit = info;
  },
  proxyTrust: (request) => request.server,
};
