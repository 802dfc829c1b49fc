import { createServer as createHttp2Server } from 'node:http2';
import Router, { type RouterContext } from '@koa/router';
import { rateLimit } from '@sluice/koa';
import { describeAdapter, listen, type App, type Route } from '@sluice/testkit/contract';
import type { Middleware } from 'koa';
import type Koa from 'koa';
import { frameworks } from './frameworks.ts';

function applicationOf(
  Application: typeof Koa,
  { limits = [], routes, before = {}, trustLoopback = false, users = false, methodOverride }: App,
): ReturnType<Koa['callback']> {
  const app = new Application();
  app.silent = true; // errors that handlers throw on purpose need not be printed
  app.proxy = trustLoopback;
  app.maxIpsCount = 1; // Koa trusts a number of hops, whatever their addresses
  app.use(async (ctx, next) => {
    ctx.set(before);
    if (users && ctx.get('x-user') !== '') Object.assign(ctx.state, { user: { id: ctx.get('x-user') } });
    await next();
  });
  if (methodOverride === 'before') app.use(overrideMethod);
  for (const limit of limits) app.use(rateLimit(limit as never));
  if (methodOverride === 'after') app.use(overrideMethod);
  const router = new Router();
  for (const route of routes) addRoute(router, route);
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app.callback();
}

const overrideMethod: Middleware = async (ctx, next) => {
  ctx.method = ctx.get('x-http-method-override') || ctx.method;
  await next();
};

function addRoute(router: Router, { method, path, limit, handle }: Route): void {
  const limiters = limit === undefined ? [] : [rateLimit(limit as never)];
  const handler = async (ctx: RouterContext): Promise<void> => {
    const { rateLimit } = ctx.state;
    const { status = 200, headers = {}, body = '', stream } = await handle({ headers: ctx.headers, rateLimit });
    ctx.status = status;
    ctx.body = stream ?? body;
    ctx.set(headers);
  };
  router.register(path, [method], [...limiters, handler]);
}

for (const { version, Koa } of frameworks) {
  describeAdapter({
    name: version,
    start: async (app) => listen(applicationOf(Koa, app)),
    startHttp2: async (app) => listen(createHttp2Server(applicationOf(Koa, app))),
    answer: (ctx: Koa.Context, { status = 200, body }) => {
      ctx.status = status;
      ctx.body = body;
    },
  });
}
