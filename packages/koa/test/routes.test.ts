import { describe, expect, it } from '@jest/globals';
import Router, { type RouterOptions } from '@koa/router';
import { byRoute, rateLimit } from '@sluice/koa';
import { exchange, spellingsOf, useServers, useWarnings } from '@sluice/testkit';
import type Koa from 'koa';
import type { Middleware } from 'koa';
// @ts-expect-error -- it has no types
import untypedMount from 'koa-mount';
import { frameworks } from './frameworks.ts';

/** `koa-mount`: takes its path off the request's for whatever stands below. */
const mount = untypedMount as (path: string, below: Koa | Middleware) => Middleware;

/** The middleware of an application, and the key of each request: a path, or a method and a path. */
type Table = Readonly<Record<string, readonly [middleware: () => readonly unknown[], keys: Record<string, string>]>>;

const ok: Middleware = (ctx) => {
  ctx.body = 'ok';
};
const pass: Middleware = async (_ctx, next) => {
  await next();
};
const changing =
  (change: (ctx: Koa.Context) => void): Middleware =>
  async (ctx, next) => {
    change(ctx);
    await next();
  };

describe.each(frameworks)('byRoute() on $version', ({ version, Koa: Application }) => {
  const [serve, warnings] = [useServers(), useWarnings()];
  const limit = rateLimit({
    ...{ limit: 1000, window: '1h', key: byRoute() },
    onDecision: (_decision, { key, request }) => {
      request.set('X-Key', key as string);
    },
  });
  const appOf = (...middleware: readonly unknown[]): Koa => {
    const app = new Application();
    for (const one of middleware) app.use(one as Middleware);
    return app;
  };
  /** Routes of a router: each a path, for GET, or a method and a path. */
  const routed = (options: RouterOptions, ...paths: readonly string[]): unknown => {
    const router = new Router(options);
    for (const route of paths) {
      const [path = '', method = 'get'] = route.split(' ').reverse();
      router[method as 'get'](path, ok);
    }
    return router.routes();
  };
  const list = () => new Router().get('/list', limit, ok).routes();

  const onRoutes: Table = {
    'the template of the route, whatever the id and the spelling': [
      () => [new Router().get('/users/:id', limit, ok).routes()],
      { '/users/42?full=1': '/users/:id', '/USERS/%31/': '/users/:id' },
    ],
    'with the prefixes of routers in routers': [
      () => {
        const users = new Router({ prefix: '/users' }).get('/:user', limit, ok);
        return [new Router({ prefix: '/:version' }).use('/tenants/:tenant', users.routes()).routes()];
      },
      {
        '/v1/tenants/7/users/8': '/:version/tenants/:tenant/users/:user',
        '/v2/tenants/9/users/10': '/:version/tenants/:tenant/users/:user',
      },
    ],
    'another for a router that is used in another place': [
      () => [new Router().use('/a', list()).use('/b', list()).routes()],
      { '/a/list': '/a/list', '/b/list': '/b/list' },
    ],
    'its own, whatever other routes match': [
      () => {
        const router = new Router().all('/{*any}', pass).get('/users/me', limit, ok);
        return [router.get('/users/:id', ok).routes()];
      },
      { '/users/me': '/users/me' },
    ],
    'the pattern of a route that is a regular expression': [
      () => [new Router().get(/^\/files\/(.+)$/, limit, ok).routes()],
      { '/files/a': '/^\\/files\\/(.+)$/', '/files/b': '/^\\/files\\/(.+)$/' },
    ],
    'one for the paths of a route that has several': [
      () => [new Router().get(['/colour', '/color'], limit, ok).routes()],
      { '/color': '/colour,/color', '/colour': '/colour,/color' },
    ],
    'with the path that its application is mounted on': [
      () => {
        const mounted = appOf(list());
        return [mount('/a', mounted), mount('/b/', mounted)];
      },
      { '/a/list': '/a/list', '/b//list': '/b/list' },
    ],
    'without a mounted application that was passed': [
      () => [mount('/shop', pass), new Router().get('/shop/list', limit, ok).routes()],
      { '/shop/list': '/shop/list' },
    ],
    'without what a rewrite took off the path, also below a mounted application': [
      () => [changing((ctx) => (ctx.path = ctx.path.replace(/^\/\w+/, ''))), mount('/shop', appOf(list()))],
      { '/ann/shop/list': '/shop/list', '/bob/shop/list': '/shop/list' },
    ],
    'found for a limiter that another middleware calls': [
      () => [
        new Router()
          .all('/{*any}', pass)
          .get('/users/:id', async (ctx, next) => limit(ctx, next), ok)
          .routes(),
      ],
      { '/users/1': '/users/:id' },
    ],
    'its own on older routers, which tell the last route that matches': [
      () => {
        const last = changing((ctx) => Object.assign(ctx, { _matchedRoute: '/users/me' }));
        return [new Router().get('/users/:id', last, limit, ok).get('/users/me', ok).routes()];
      },
      { '/users/me': '/users/:id' },
    ],
    'the template of the route that follows a middleware of the router': [
      () => {
        const router = new Router({ prefix: '/api' }).use('/users', limit);
        return [router.get('/users/:id', ok).get('/users/:id/posts', ok).routes()];
      },
      { '/api/users/1': '/api/users/:id', '/api/users/1/posts': '/api/users/:id/posts' },
    ],
  };

  const ahead: Table = {
    'the template that is going to match, in routers in routers too': [
      () => {
        const users = new Router({ prefix: '/users' }).get('/:user', ok);
        return [limit, new Router({ prefix: '/:version' }).use('/tenants/:tenant', users.routes()).routes()];
      },
      { '/v1/tenants/7/users/8': '/:version/tenants/:tenant/users/:user' },
    ],
    'that of the first router with a route of the method': [
      () => [limit, routed({}, 'post /:anything'), routed({}, '/list'), routed({}, '/:other')],
      { '/list': '/list', 'post /list': '/:anything', '/more': '/:other' },
    ],
    'that of a router behind it, whatever has matched before': [
      () => [new Router().get('/:anything', pass).routes(), limit, routed({}, '/list')],
      { '/list': '/list' },
    ],
    'that of the first route, which runs': [
      () => [limit, routed({}, '/users/:id', '/users/me')],
      { '/users/me': '/users/:id' },
    ],
    'that of GET for a HEAD': [
      () => [limit, routed({}, 'head /:anything', '/list')],
      { 'head /list': '/list', '/list': '/list' },
    ],
    'that of another method, which the request may yet get': [
      () => [limit, changing((ctx) => (ctx.method = 'DELETE')), routed({}, 'delete /users/:id')],
      { 'post /users/1': '/users/:id' },
    ],
    'not that of a router of another host': [
      () => [limit, routed({ host: 'other.example' }, '/:anything'), routed({}, '/list')],
      { '/list': '/list' },
    ],
    'one for all requests that no route matches': [
      () => [limit, routed({}, '/list')],
      { '/a': '(unmatched)', '/b/c': '(unmatched)', '/list': '/list' },
    ],
    'that of the route that passed the request on, behind the router': [
      () => [new Router().get('/users/:id', pass).routes(), limit, ok],
      { '/users/1': '/users/:id', '/nowhere': '(unmatched)' },
    ],
    'the mount path ahead of the routes of a mounted application': [
      () => [mount('/shop', appOf(limit, routed({}, '/:any')))],
      { '/shop/a': '/shop', '/shop/b': '/shop' },
    ],
    'another for /API and /api only if the router tells them apart': [
      () => [limit, routed({ sensitive: true }, '/api/list', '/API/list')],
      { '/api/list': '/api/list', '/API/list': '/API/list' },
    ],
    'one if no router can be found': [() => [limit, ok], { '/a': '(unmatched)', '/b': '(unmatched)' }],
  };

  it.each(Object.entries({ ...onRoutes, ...ahead }))('is %s', async (_title, [middleware, expected]) => {
    const { ask } = await serve(appOf(...middleware()).callback());

    const keys: Record<string, string | undefined> = {};
    for (const asked of Object.keys(expected)) keys[asked] = (await ask(asked)).headers['x-key'];

    expect(keys).toEqual(expected);
  });

  it('warns once of a mount path whose routes are hidden', async () => {
    const path = `/${version.toLowerCase().replace(' ', '-')}`;
    const { statuses } = await serve(appOf(mount(path, appOf(limit, routed({}, '/:any')))).callback());

    await statuses(`${path}/a`, `${path}/b`);

    expect(warnings()).toMatchObject([
      { type: 'SluiceWarning', code: 'SLUICE_ROUTE_UNKNOWN', message: expect.stringContaining(path) },
    ]);
  });

  it.each([true, false])(
    'is escaped by no spelling of a route with a prefix (ahead of the router: %p)',
    async (isAhead) => {
      const calls: string[] = [];
      const once = rateLimit({ limit: 1, window: '1h', key: byRoute() });
      const router = new Router({ prefix: '/auth' });
      router.post('/:way/login', isAhead ? pass : once, (ctx) => {
        calls.push(ctx.url);
      });
      const { port } = await serve(appOf(isAhead ? once : pass, router.routes()).callback());

      for (const [i, target] of spellingsOf('/login').entries()) {
        const bytes = `POST /auth/${String(i)}${target} HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
        await exchange(port, bytes);
        await exchange(port, bytes.replace('/auth', '/%61UTH'));
      }

      expect(calls).toHaveLength(1);
    },
  );
});
