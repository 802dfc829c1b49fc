import { fromProxy, rateLimit, type AddressSource } from '@sluice/web/hono';
import type { App, Limit } from '@sluice/testkit/contract';
import { Hono, type MiddlewareHandler } from 'hono';
import { methodOverride } from 'hono/method-override';
import { responseOf } from './fetch-app.ts';

/** An application of Hono. */
export function honoApp(suiteApp: App, peer: AddressSource): Hono {
  const { limits = [], routes, before = {}, trustLoopback = false, users = false } = suiteApp;
  const address = trustLoopback ? fromProxy(['127.0.0.1'], peer) : peer;
  const limiterOf = (options: Limit): MiddlewareHandler =>
    rateLimit({ ...options, address } as never) as MiddlewareHandler;
  const app = new Hono();
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(before)) c.res.headers.set(name, value); // as hono/cors does
    const id = c.req.header('x-user');
    if (users && id !== undefined) c.set('user' as never, { id } as never);
    await next();
  });
  if (suiteApp.methodOverride === 'before') app.use(methodOverride({ app, header: 'x-http-method-override' }));
  for (const limit of limits) app.use(limiterOf(limit));
  for (const { method, path, limit, handle } of routes) {
    const limiters = limit === undefined ? [] : [limiterOf(limit)];
    app.on(method, [path], ...limiters, async (c) => {
      return responseOf(await handle({ headers: c.req.raw.headers, rateLimit: c.var.rateLimit }));
    });
  }
  app.onError((error, c) => {
    if ('getResponse' in error) return (error as { getResponse(): Response }).getResponse();
    return c.text('Internal Server Error', 500);
  });
  return app;
}
