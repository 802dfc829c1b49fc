import fastifyRateLimit from '@fastify/rate-limit';
import plugin from '@sluice/fastify';
import Fastify from 'fastify';
import { BODY, DENIED, WINDOW_MS } from './settings.mjs';

export const sluice = (options) => (app) => app.register(plugin, options);

export const peer = (limit) => (app) =>
  app.register(fastifyRateLimit, { max: limit, timeWindow: WINDOW_MS, cache: 1_000_000 });

export const written = (decide) => (app) =>
  app.addHook('onRequest', (request, reply, done) => {
    const set = (name, value) => reply.header(name, value);
    void decide(request.ip, set, done, () => reply.code(429).send(DENIED));
  });

export async function serve(addLimit) {
  const app = Fastify();
  await addLimit(app);
  app.get('/', () => BODY);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server;
}
