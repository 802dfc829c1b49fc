import fastifyRateLimit from '@fastify/rate-limit';
import sluice from '@sluice/fastify';
import Fastify from 'fastify';
import { BODY, DENIED, fieldsByHand, flexible, sluiceOptions, WINDOW_MS } from './settings.mjs';

const plugins = {
  'by hand': (app, settings) => {
    const write = fieldsByHand(settings);
    app.addHook('onRequest', (_request, reply, done) => {
      write((name, value) => reply.header(name, value));
      done();
    });
  },
  sluice: (app, settings) => app.register(sluice, sluiceOptions(settings)),
  '@fastify/rate-limit': (app, { limit }) =>
    app.register(fastifyRateLimit, { max: limit, timeWindow: WINDOW_MS, cache: 1_000_000 }),
  'rate-limiter-flexible': (app, settings) => {
    const consume = flexible(settings);
    app.addHook('onRequest', (request, reply, done) => {
      const set = (name, value) => reply.header(name, value);
      void consume(request.ip, set, done, () => reply.code(429).send(DENIED));
    });
  },
};

export async function serve({ name, ...settings }) {
  const app = Fastify();
  await plugins[name](app, settings);
  app.get('/', () => BODY);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server;
}
