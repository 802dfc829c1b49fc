// A server of drop-ins.mjs: `drop-in-server.mjs CONTENDER REDIS`. Tells its port, and its CPU when it is asked.
import fastifyRateLimit from '@fastify/rate-limit';
import { rateLimit as dropIn } from '@sluice/compat/express-rate-limit';
import { ExpressStore, fastifyStore } from '@sluice/compat/stores';
import { memoryStore, redisStore } from '@sluice/core';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';

const [contender, redisUrl] = process.argv.slice(2);
const inRedis = contender.endsWith(' redis');
const client = inRedis ? new Redis(redisUrl) : undefined;
const options = { windowMs: 3_600_000, limit: 1e9, standardHeaders: 'draft-7', legacyHeaders: false };
const peerStore = () =>
  inRedis ? { store: new RedisStore({ sendCommand: (...words) => client.call(...words) }) } : {};
const ourStore = () => (inRedis ? redisStore(client) : memoryStore());

const EXPRESS = {
  bare: () => undefined,
  'drop-in': () => dropIn({ ...options, ...(inRedis && { store: ourStore() }) }),
  peer: () => rateLimit({ ...options, ...peerStore() }),
  'our store': () => rateLimit({ ...options, store: new ExpressStore({ store: ourStore() }) }),
};
const FASTIFY = {
  bare: () => undefined,
  peer: () => (inRedis ? { redis: client } : {}),
  'our store': () => ({ store: fastifyStore({ store: ourStore() }) }),
};

const [framework] = contender.split(' ');
const kind = contender.slice(framework.length + 1).replace(/ redis$/, '');
process.send(framework === 'express' ? await onExpress(EXPRESS[kind]()) : await onFastify(FASTIFY[kind]()));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
process.on('disconnect', () => process.exit());

function onExpress(middleware) {
  const app = express();
  if (middleware !== undefined) app.use(middleware);
  app.get('/', (_request, response) => void response.json({ good: true }));
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

async function onFastify(given) {
  const app = Fastify();
  if (given !== undefined) await app.register(fastifyRateLimit, { max: 1e9, timeWindow: 3_600_000, ...given });
  app.get('/', () => ({ good: true }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app.server.address().port;
}
