import { sluice } from '@sluice/fastify';
import { describeAdapter, type App, type Limit, type Listening } from '@sluice/testkit/contract';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';

function settings({ trustLoopback = false, methodOverride }: App) {
  return {
    forceCloseConnections: true,
    trustProxy: trustLoopback ? '127.0.0.1' : false,
    // Fastify routes before any hook runs: there is no other place for a change of the method.
    ...(methodOverride !== undefined && {
      rewriteUrl: (request: IncomingMessage) => {
        const given = request.headers['x-http-method-override'];
        if (typeof given === 'string') request.method = given;
        return request.url ?? '/';
      },
    }),
  };
}

async function run(app: FastifyInstance, { limits = [], routes, before = {}, users = false }: App): Promise<Listening> {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(before);
    const user = request.headers['x-user'];
    if (users && typeof user === 'string') Object.assign(request, { user: { id: user } });
  });
  await app.register(sluice, (limits[0] ?? {}) as never);
  for (const more of limits.slice(1)) app.addHook('onRequest', app.rateLimit(more as never) as never);
  for (const { method, path, limit, handle } of routes) {
    app.route({
      method,
      url: path,
      // In its config it would replace that of the application: if a scenario has both, it is a hook.
      ...(limit !== undefined &&
        (limits.length > 0
          ? { onRequest: app.rateLimit(limit as never) }
          : { config: { rateLimit: named(limit) as never } })),
      handler: async (request, reply) => {
        const { status = 200, headers = {}, body = '', stream } = await handle(request);
        return reply
          .code(status)
          .headers(headers)
          .send(stream ?? body);
      },
    });
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: (app.server.address() as AddressInfo).port, close: async () => app.close() };
}

/** A limit of a route has the name of the route; scenarios expect that of an application. */
function named(limit: Limit): Limit {
  return limit.limiter === undefined ? { name: 'default', ...limit } : limit;
}

describeAdapter({
  name: 'Fastify 5',
  start: (app) => run(Fastify(settings(app) as object), app),
  startHttp2: (app) => run(Fastify({ ...settings(app), http2: true } as object), app),
  answer: (reply: FastifyReply, { status = 200, body }) => reply.code(status).send(body),
});
