import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import Router from '@koa/router';
import { byRoute, fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/koa';
import { exchange } from '@sluice/testkit';
import type Koa from 'koa';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers, type Served } from './serve.ts';
import { mount } from './untyped.ts';

const options: RateLimitOptions = { policy: fixedWindow({ limit: 1, window: '1h' }), key: byRoute() };
const tellKey: Middleware = (ctx) => {
  ctx.body = ctx.state.rateLimit?.key ?? 'not limited';
};
const goOn: Middleware = async (_ctx, next) => {
  await next();
};

describe.each(frameworks)('byRoute() on $version', ({ version, Koa: Application }) => {
  const serve = useServers();
  let emitWarning: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const appOf = (...middleware: readonly unknown[]): Koa => {
    const app = new Application();
    for (const one of middleware) app.use(one as Middleware);
    return app;
  };
  const served = (...middleware: readonly unknown[]): Promise<Served> => serve(appOf(...middleware));
  const keyOf = async ({ ask }: Served, path: string, method = 'GET') => (await ask(path, { method })).text;
  const statusesOf = async ({ ask }: Served, ...paths: readonly string[]) => {
    const statuses = [];
    for (const path of paths) statuses.push((await ask(path)).status);
    return statuses;
  };

  describe('on a route', () => {
    it('is its template', async () => {
      const router = new Router().get('/users/:id', rateLimit(options), tellKey);

      expect(await keyOf(await served(router.routes()), '/users/42?full=1')).toBe('/users/:id');
      expect(emitWarning).not.toHaveBeenCalled();
    });

    it('has one budget for all ids of a route, and one for each route', async () => {
      const limiter = rateLimit(options);
      const router = new Router();
      router.get('/users/:id', limiter, tellKey);
      router.get('/orders/:id', limiter, tellKey);
      const app = await served(router.routes());

      expect(await statusesOf(app, '/users/1', '/users/2', '/orders/1')).toEqual([200, 429, 200]);
    });

    it('begins with the prefixes of its router and of those around it', async () => {
      const users = new Router({ prefix: '/users' }).get('/:user', rateLimit(options), tellKey);
      const tenants = new Router({ prefix: '/:version' });
      tenants.use('/tenants/:tenant', users.routes());
      const app = await served(tenants.routes());

      expect(await keyOf(app, '/v1/tenants/7/users/8')).toBe('/:version/tenants/:tenant/users/:user');
      expect(await statusesOf(app, '/v2/tenants/9/users/10')).toEqual([429]);
    });

    it('is another for a router that is used in another place', async () => {
      const inner = new Router().get('/list', rateLimit(options), tellKey);
      const router = new Router();
      router.use('/a', inner.routes());
      router.use('/b', inner.routes());
      const app = await served(router.routes());

      expect([await keyOf(app, '/a/list'), await keyOf(app, '/b/list')]).toEqual(['/a/list', '/b/list']);
    });

    it('is the route’s own, where others stand on the path before it and behind it', async () => {
      const router = new Router();
      router.all('/{*any}', goOn);
      router.get('/users/me', rateLimit(options), tellKey);
      router.get('/users/:id', tellKey);

      expect(await keyOf(await served(router.routes()), '/users/me')).toBe('/users/me');
    });

    it('is the pattern of a route that is a regular expression', async () => {
      const router = new Router().get(/^\/files\/(.+)$/, rateLimit(options), tellKey);
      const app = await served(router.routes());

      expect(await keyOf(app, '/files/a')).toBe('/^\\/files\\/(.+)$/');
      expect(await statusesOf(app, '/files/b')).toEqual([429]);
    });

    it('is one for the paths of a route that has several', async () => {
      const router = new Router().get(['/colour', '/color'], rateLimit(options), tellKey);
      const app = await served(router.routes());

      expect(await keyOf(app, '/color')).toBe('/colour,/color');
      expect(await statusesOf(app, '/colour')).toEqual([429]);
    });

    it('begins with the path that its router is mounted on', async () => {
      const router = new Router().get('/users/:id', rateLimit(options), tellKey);
      const app = await served(mount('/shop', appOf(router.routes())));

      expect(await keyOf(app, '/shop/users/1')).toBe('/shop/users/:id');
      expect(await statusesOf(app, '/shop/users/2')).toEqual([429]);
    });

    it('is another for an application that is mounted on another path', async () => {
      const mounted = appOf(new Router().get('/list', rateLimit(options), tellKey).routes());
      const app = await served(mount('/a', mounted), mount('/b/', mounted));

      expect([await keyOf(app, '/a/list'), await keyOf(app, '/b//list')]).toEqual(['/a/list', '/b/list']);
    });

    it('has nothing of a mounted application that was passed', async () => {
      const router = new Router().get('/shop/list', rateLimit(options), tellKey);
      const app = await served(mount('/shop', goOn), router.routes());

      expect(await keyOf(app, '/shop/list')).toBe('/shop/list');
    });

    it('never has what a rewrite took off the path, not even below a mounted application', async () => {
      const withoutTenant: Middleware = async (ctx, next) => {
        ctx.path = ctx.path.replace(/^\/\w+/, '');
        await next();
      };
      const router = new Router().get('/list', rateLimit(options), tellKey);
      const app = await served(withoutTenant, mount('/shop', appOf(router.routes())));

      expect(await statusesOf(app, '/ann/shop/list', '/bob/shop/list')).toEqual([200, 429]);
    });

    it('is found for a limiter that is called by another middleware', async () => {
      const limiter = rateLimit(options);
      const router = new Router();
      router.all('/{*any}', goOn);
      router.get('/users/:id', async (ctx, next) => limiter(ctx, next), tellKey);

      expect(await keyOf(await served(router.routes()), '/users/1')).toBe('/users/:id');
    });

    it('is the route’s own on older routers, which tell the last route that matches', async () => {
      const tellLast: Middleware = async (ctx, next) => {
        Object.assign(ctx, { _matchedRoute: '/users/me' });
        await next();
      };
      const router = new Router();
      router.get('/users/:id', tellLast, rateLimit(options), tellKey);
      router.get('/users/me', tellKey);

      expect(await keyOf(await served(router.routes()), '/users/me')).toBe('/users/:id');
    });
  });

  describe('on a router', () => {
    it.each([
      ['all paths', (router: Router) => router.use(rateLimit(options))],
      ['a path', (router: Router) => router.use('/users', rateLimit(options))],
    ])('is the template of the route that follows, for a middleware of %s', async (_what, use) => {
      const router = new Router({ prefix: '/api' });
      use(router);
      router.get('/users/:id', tellKey);
      router.get('/users/:id/posts', tellKey);
      const app = await served(router.routes());

      expect([await keyOf(app, '/api/users/1'), await keyOf(app, '/api/users/1/posts')]).toEqual([
        '/api/users/:id',
        '/api/users/:id/posts',
      ]);
      expect(await statusesOf(app, '/api/users/2')).toEqual([429]);
    });
  });

  describe('ahead of the router', () => {
    it('is the template that is going to match, in nested routers too', async () => {
      const users = new Router({ prefix: '/users' }).get('/:user', tellKey);
      const tenants = new Router({ prefix: '/:version' });
      tenants.use('/tenants/:tenant', users.routes());
      const app = await served(rateLimit(options), tenants.routes());

      expect(await keyOf(app, '/v1/tenants/7/users/8')).toBe('/:version/tenants/:tenant/users/:user');
      expect(await statusesOf(app, '/v2/tenants/9/users/10')).toEqual([429]);
      expect(emitWarning).not.toHaveBeenCalled();
    });

    it('is that of the first router with a route of the method', async () => {
      const first = new Router().post('/:anything', tellKey);
      const second = new Router().get('/list', tellKey);
      const third = new Router().get('/:other', tellKey);
      const app = await served(rateLimit(options), first.routes(), second.routes(), third.routes());

      expect(await keyOf(app, '/list')).toBe('/list');
    });

    it('is that of a router behind it, whatever has matched before', async () => {
      const before = new Router().get('/:anything', goOn);
      const behind = new Router().get('/list', tellKey);
      const app = await served(before.routes(), rateLimit(options), behind.routes());

      expect(await keyOf(app, '/list')).toBe('/list');
    });

    it('is that of the first route which runs, whatever else matches', async () => {
      const router = new Router();
      router.get('/users/:id', tellKey);
      router.get('/users/me', tellKey);
      const app = await served(rateLimit(options), router.routes());

      expect(await keyOf(app, '/users/me')).toBe('/users/:id');
    });

    it.each([
      ['the last', true as const, '/users/:id'],
      ['the most specific', 'specificity' as const, '/users/me'],
    ])('is that of %s route, where the router runs only that one', async (_which, exclusive, template) => {
      const router = new Router({ exclusive });
      router.get('/users/me', tellKey);
      router.get('/users/:id', tellKey);
      const app = await served(rateLimit(options), router.routes());

      expect(await keyOf(app, '/users/me')).toBe(template);
    });

    it('counts HEAD with the route of GET', async () => {
      const router = new Router();
      router.head('/:anything', tellKey);
      router.get('/list', tellKey);
      const { ask } = await served(rateLimit(options), router.routes());

      const answers = [await ask('/list', { method: 'HEAD' }), await ask('/list')];

      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    });

    it('is that of a route of another method where there is none of its own, for the method may yet change', async () => {
      const overrideMethod: Middleware = async (ctx, next) => {
        ctx.method = 'DELETE';
        await next();
      };
      const router = new Router().delete('/users/:id', tellKey);
      const app = await served(rateLimit(options), overrideMethod, router.routes());

      expect(await keyOf(app, '/users/1', 'POST')).toBe('/users/:id');
    });

    it('leaves out a router of another host', async () => {
      const other = new Router({ host: 'other.example' }).get('/:anything', tellKey);
      const router = new Router().get('/list', tellKey);
      const app = await served(rateLimit(options), other.routes(), router.routes());

      expect(await keyOf(app, '/list')).toBe('/list');
    });

    it('reads the path that the router was told to route by', async () => {
      const fixed = new Router({ routerPath: '/fixed' }).get('/fixed', tellKey);
      const rewritten = new Router().get('/new', tellKey);
      const rewrite: Middleware = async (ctx, next) => {
        ctx['newRouterPath'] = '/new';
        await next();
      };

      const keys = [
        await keyOf(await served(rateLimit(options), fixed.routes()), '/any'),
        await keyOf(await served(rewrite, rateLimit(options), rewritten.routes()), '/any'),
      ];

      expect(keys).toEqual(['/fixed', '/new']);
    });

    it('is one for all that no route matches, and one beside them for a route', async () => {
      const router = new Router().get('/list', tellKey);
      const app = await served(rateLimit(options), router.routes());

      expect(await statusesOf(app, '/a', '/b', '/list', '/c/d')).toEqual([404, 429, 200, 429]);
      expect(emitWarning).not.toHaveBeenCalled();
    });

    it('is the template for a handler that asks for the key of its request', async () => {
      const limiter = rateLimit({ ...options, skip: () => true });
      const router = new Router().get('/users/:id', async (ctx) => {
        ctx.body = await limiter.keyFor(ctx);
      });

      expect(await keyOf(await served(limiter, router.routes()), '/users/1')).toBe('/users/:id');
    });
  });

  it('behind the router is the template of the route that passed the request on', async () => {
    const router = new Router().get('/users/:id', goOn);
    const app = await served(router.routes(), rateLimit(options), tellKey);

    expect(await keyOf(app, '/users/1')).toBe('/users/:id');
    expect(await keyOf(app, '/nowhere')).toBe('(unmatched)');
  });

  it('ahead of the routes of a mounted application is the mount path, with one warning for each', async () => {
    const mounted = appOf(rateLimit(options), new Router().get('/:any', tellKey).routes());
    const path = `/${version.toLowerCase().replace(' ', '-')}`;
    const app = await served(mount(path, mounted));

    expect(await keyOf(app, `${path}/a`)).toBe(path);
    expect(await statusesOf(app, `${path}/b`)).toEqual([429]);
    expect(emitWarning.mock.calls).toEqual([
      [expect.stringContaining(path), expect.objectContaining({ code: 'SLUICE_ROUTE_UNKNOWN' })],
    ]);
  });

  it.each([
    ['on the route', false],
    ['ahead of the router', true],
  ])('counts every spelling that reaches the handler against one budget: %s', async (_place, isAhead) => {
    let handled = 0;
    const handle: Middleware = (ctx) => {
      handled++;
      ctx.body = 'handled';
    };
    const limiter = rateLimit(options);
    const router = new Router({ prefix: '/auth' });
    router.post('/:way/login', isAhead ? goOn : limiter, handle);
    const { port } = await served(isAhead ? limiter : goOn, router.routes());
    const spelt = [
      ...['/auth/a/login', '/AUTH/b/LOGIN', '/auth/c/login/', '/Auth/d/Login/', '/auth/e/login?x=1'],
      ...['http://test/auth/f/login', 'HTTP://TEST/AUTH/g/LOGIN', '/auth/h%2Fi/login', '/auth/%E8/login'],
      ...['//auth/j/login', '/auth//login', '/auth/./login', '/auth/k/%6Cogin', '/%61uth/l/login'],
      ...['/auth/m/login;a=1', '/auth/n/login%2F', '/auth/o/login%00', '/auth/p/login#f', '/auth/q/login//'],
    ];

    for (const target of spelt) {
      await exchange(port, `POST ${target} HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    }

    expect(handled).toBe(1);
  });

  it('tells /API and /api apart only where the router does', async () => {
    const limiter = rateLimit(options);
    const router = new Router({ sensitive: true });
    router.get('/api/list', tellKey);
    router.get('/API/list', tellKey);
    const app = await served(limiter, router.routes());

    expect([await keyOf(app, '/api/list'), await keyOf(app, '/API/list')]).toEqual(['/api/list', '/API/list']);
  });
});

describe('byRoute() without a router that can be seen', () => {
  const serve = useServers();

  it('is one key for all requests, with one warning', async () => {
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const keys: string[] = [];
    for (const { Koa: Application } of frameworks) {
      const app = new Application();
      app.use(rateLimit(options));
      app.use(tellKey);
      const { ask } = await serve(app);
      keys.push((await ask('/a')).text);
      keys.push(String((await ask('/b')).status));
    }
    const calls = [...emitWarning.mock.calls];
    jest.restoreAllMocks();

    expect(keys).toEqual(['(unmatched)', '429', '(unmatched)', '429']);
    expect(calls).toEqual([
      [
        expect.stringContaining('without a router'),
        expect.objectContaining({ type: 'SluiceWarning', code: 'SLUICE_ROUTE_UNKNOWN' }),
      ],
    ]);
  });
});
