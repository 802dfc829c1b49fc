import fastifyRateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import sluice from '@sluice/fastify';
import { DENIED, flexible } from './flexible.mjs';
import { BODY, LIMIT, WINDOW_MS, clientOf, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const plugins = {
  bare: () => undefined,
  'by hand': (app) => {
    const write = fieldsByHand();
    app.addHook('onRequest', (_request, reply, done) => {
      write((name, value) => reply.header(name, value));
      done();
    });
  },
  sluice: (app, redisUrl) => app.register(sluice, sluiceOptions(redisUrl)),
  '@fastify/rate-limit': (app, redisUrl) =>
    app.register(fastifyRateLimit, {
      ...{ max: LIMIT, timeWindow: WINDOW_MS },
      ...(redisUrl === undefined ? {} : { redis: clientOf(redisUrl) }),
    }),
  'rate-limiter-flexible': (app, redisUrl) => {
    const consume = flexible(redisUrl);
    app.addHook('onRequest', (request, reply, done) => {
      const set = (name, value) => reply.header(name, value);
      void consume(request.ip, set, done, () => reply.code(429).send(DENIED));
    });
  },
};

export async function serve({ contender, redisUrl, proxy }) {
  const app = Fastify(proxy ? { trustProxy: 'loopback' } : {});
  await plugins[contender](app, redisUrl);
  app.get('/', () => BODY);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return listening(app.server, () => app.close());
}
