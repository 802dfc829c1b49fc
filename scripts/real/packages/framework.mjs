// A server of a framework, with a limit of two, made of what `load` finds: `node framework.mjs koa` imports, `node framework.cjs koa` requires.
import { listening, metricsCount, threeRequests } from './limited.mjs';

const limit = { limit: 2, window: '1m' };
const defaultOf = (module) => module.default ?? module;

/** Per adapter: starts the server, and returns its port. */
const SERVERS = {
  async express(load) {
    const { rateLimit } = await load('@sluice/express');
    const app = defaultOf(await load('express'))();
    app.use(rateLimit(limit)).get('/', (_request, response) => response.send('ok'));
    return listening(app);
  },
  async fastify(load) {
    const { sluice } = await load('@sluice/fastify');
    const app = defaultOf(await load('fastify'))();
    await app.register(sluice, limit);
    app.get('/', () => 'ok');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },
  async koa(load) {
    const { rateLimit } = await load('@sluice/koa');
    const Koa = defaultOf(await load('koa'));
    return listening(new Koa().use(rateLimit(limit)).use((ctx) => void (ctx.body = 'ok')));
  },
  async nestjs(load) {
    await load('reflect-metadata');
    const { Controller, Get, Module } = await load('@nestjs/common');
    const { NestFactory } = await load('@nestjs/core');
    const { RateLimitModule } = await load('@sluice/nestjs');
    class AppController {
      get() {
        return 'ok';
      }
    }
    // Decorators without their syntax, which Node.js does not have.
    Get()(AppController.prototype, 'get', Object.getOwnPropertyDescriptor(AppController.prototype, 'get'));
    Controller()(AppController);
    class AppModule {}
    Module({ imports: [RateLimitModule.forRoot(limit)], controllers: [AppController] })(AppModule);
    const app = await NestFactory.create(AppModule, { logger: false });
    await app.listen(0, '127.0.0.1');
    return app.getHttpServer().address().port;
  },
  async web(load) {
    const { serve } = await load('@hono/node-server');
    const { fromNode, rateLimit } = await load('@sluice/web/hono');
    const { Hono } = await load('hono');
    const app = new Hono().use(rateLimit({ ...limit, address: fromNode })).get('/', (c) => c.text('ok'));
    return new Promise((resolve) => {
      serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port));
    });
  },
};

export async function useFramework(name, load) {
  (await load('@sluice/core/metrics')).collectMetrics();
  const port = await SERVERS[name](load);
  await threeRequests(port);
  await metricsCount((await load('prom-client')).register);
  process.exit(0);
}

if (process.argv[1]?.endsWith('framework.mjs')) await useFramework(process.argv[2], (name) => import(name));
