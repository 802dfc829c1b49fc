// A target of plain `node:http`, written against what is public.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createEnforcer } from '@sluice/http/spi';

const framework = {
  address: (request) => (request.trusted && request.headers['x-forwarded-for']) || request.socket.remoteAddress,
  method: (request) => request.method,
  route: (request) => request.url.split('?')[0],
  header: (request, name) => [request.headers[name]].flat().join(', ') || undefined,
  user: (request) => request.headers['x-user'],
  rawRequest: (request) => request,
  rawResponse: (response) => response,
  getHeader: (response, name) => response.getHeader(name)?.toString(),
  setHeader: (response, name, value) => response.setHeader(name, value),
  removeHeader: (response, name) => response.removeHeader(name),
  setStatus: (response, status) => (response.statusCode = status),
  send: (response, body) => response.end(body),
  record: (request, info) => (request.rateLimit = info),
};
const enforcerOf = (options) => createEnforcer(options, framework).enforcer;

/** @type {import('@sluice/testing/adapter').AdapterTarget} */
export const target = {
  name: 'node:http',
  answer: (response, { status = 200, body }) => response.writeHead(status).end(body),
  async start({ limits = [], routes, before = {}, trustLoopback = false }) {
    const outer = limits.map(enforcerOf);
    const handlers = routes.map(({ limit, ...route }) => ({ ...route, inner: limit ? [enforcerOf(limit)] : [] }));
    const server = createServer(async (request, response) => {
      request.trusted = trustLoopback;
      try {
        for (const [name, value] of Object.entries(before)) response.setHeader(name, value);
        const asked = request.method === 'HEAD' ? 'GET' : request.method;
        const found = handlers.find(({ method, path }) => method === asked && path === request.url.split('?')[0]);
        for (const enforcer of [...outer, ...(found?.inner ?? [])])
          if (!(await enforcer.limit(request, response))) return;
        const { method, headers, rateLimit } = request;
        const answer = (await found?.handle({ method, headers, body: undefined, rateLimit })) ?? { status: 404 };
        response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
      } catch (error) {
        if (!response.headersSent) response.writeHead(error.status ?? 500, error.headers);
        response.end();
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      port: server.address().port,
      async close() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  },
};
