import fastifyRateLimit from '@fastify/rate-limit';
import sluice from '@sluice/fastify';
import Fastify from 'fastify';
import { BODY, DENIED, HANDS, sluiceOptions, WINDOW_MS } from './settings.mjs';

const plugins = {
  sluice: (app, settings) => app.register(sluice, sluiceOptions(settings)),
  '@fastify/rate-limit': (app, { limit }) =>
    app.register(fastifyRateLimit, { max: limit, timeWindow: WINDOW_MS, cache: 1_000_000 }),
};

function written(decide) {
  return (request, reply, done) => {
    const set = (name, value) => reply.header(name, value);
    void decide(request.ip, set, done, () => reply.code(429).send(DENIED));
  };
}

export async function serve({ name, ...settings }) {
  const app = Fastify();
  if (name in plugins) await plugins[name](app, settings);
  else app.addHook('onRequest', written(HANDS[name](settings)));
  app.get('/', () => BODY);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server;
}
