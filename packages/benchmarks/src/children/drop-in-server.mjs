// A server of drop-ins.mjs: `drop-in-server.mjs CONTENDER REDIS`. Tells its port, and its CPU when it is asked.
import 'reflect-metadata';
import fastifyRateLimit from '@fastify/rate-limit';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { rateLimit as dropIn } from '@sluice/compat/express-rate-limit';
import { ExpressStore, NestStorage, fastifyStore } from '@sluice/compat/stores';
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
/** A machine that is busy is no failure. */
const timeoutMs = 10_000;
const ourStore = () => ({ store: inRedis ? redisStore(client, { prefix: 'sluice' }) : memoryStore(), timeoutMs });

const EXPRESS = {
  bare: () => undefined,
  'drop-in': () => dropIn({ ...options, ...(inRedis && { store: new ExpressStore(ourStore()) }) }),
  peer: () => rateLimit({ ...options, ...peerStore() }),
  'our store': () => rateLimit({ ...options, store: new ExpressStore(ourStore()) }),
};
const FASTIFY = {
  bare: () => undefined,
  peer: () => (inRedis ? { redis: client } : {}),
  'our store': () => ({ store: fastifyStore(ourStore()) }),
};

const NEST = {
  bare: () => undefined,
  peer: () => (inRedis ? { storage: new ThrottlerStorageRedisService(client) } : {}),
  'our store': () => ({ storage: new NestStorage(ourStore()) }),
};
const FRAMEWORKS = { express: [EXPRESS, onExpress], fastify: [FASTIFY, onFastify], nest: [NEST, onNest] };

const [framework] = contender.split(' ');
const kind = contender.slice(framework.length + 1).replace(/ redis$/, '');
const [contenders, started] = FRAMEWORKS[framework];
process.send(await started(contenders[kind]()));
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
    server.keepAliveTimeout = 0; // a turn of the others is longer
  });
}

async function onFastify(given) {
  const app = Fastify();
  if (given !== undefined) await app.register(fastifyRateLimit, { max: 1e9, timeWindow: 3_600_000, ...given });
  app.get('/', () => ({ good: true }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app.server.address().port;
}

/** Decorators are called by hand, because this file is not compiled. */
async function onNest(given) {
  class Answers {
    good() {
      return { good: true };
    }
  }
  Get()(Answers.prototype, 'good', Object.getOwnPropertyDescriptor(Answers.prototype, 'good'));
  Controller()(Answers);
  class Application {}
  const limits = { throttlers: [{ ttl: 3_600_000, limit: 1e9 }], setHeaders: true, ...given };
  Module({
    imports: given === undefined ? [] : [ThrottlerModule.forRoot(limits)],
    controllers: [Answers],
    providers: given === undefined ? [] : [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(Application);
  const app = await NestFactory.create(Application, { logger: false });
  await app.listen(0, '127.0.0.1');
  app.getHttpServer().keepAliveTimeout = 0;
  return app.getHttpServer().address().port;
}
