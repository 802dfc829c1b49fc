import { createServer as createHttp2Server } from 'node:http2';
import { json } from 'node:stream/consumers';
import Router, { type RouterContext } from '@koa/router';
import { rateLimit } from '@sluice/koa';
import { describeAdapter, listen, type App, type Call, type Route } from '@sluice/testkit/contract';
import type { Middleware } from 'koa';
import type Koa from 'koa';
import { frameworks } from './frameworks.ts';

function applicationOf(
  Application: typeof Koa,
  { limits = [], routes, before = {}, trustLoopback = false, users = false, methodOverride }: App,
): (...exchange: Parameters<ReturnType<Koa['callback']>>) => void {
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
  const answer = app.callback();
  return (request, response) => {
    void answer(request, response);
  };
}

const overrideMethod: Middleware = async (ctx, next) => {
  ctx.method = ctx.get('x-http-method-override') || ctx.method;
  await next();
};

function addRoute(router: Router, { method, path, limit, handle }: Route): void {
  const limiters = limit === undefined ? [] : [rateLimit(limit as never)];
  router.register(
    path,
    [method],
    [
      ...limiters,
      async (ctx: RouterContext) => {
        const { status = 200, headers = {}, body = '', stream } = await handle(await callOf(ctx));
        ctx.status = status;
        ctx.body = stream ?? body;
        ctx.set(headers);
      },
    ],
  );
}

async function callOf(ctx: RouterContext): Promise<Call> {
  const body: unknown = ctx.is('json') === 'json' ? await json(ctx.req) : undefined;
  return { method: ctx.method, headers: ctx.headers, body, rateLimit: ctx.state.rateLimit };
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
