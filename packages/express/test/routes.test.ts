import { describe, expect, it } from '@jest/globals';
import { byRoute, rateLimit } from '@sluice/express';
import { spellingsOf, useServers, useWarnings } from '@sluice/testkit';
import type { Express, RequestHandler } from 'express';
import { routeTemplate } from '../src/route-template.ts';
import { frameworks } from './frameworks.ts';

/** How an application is built, and the key of each request: a path, or a method and a path. */
type Table = Readonly<Record<string, readonly [build: (app: Express) => unknown, keys: Record<string, string>]>>;

const [serve, warnings] = [useServers(), useWarnings()];
const pass: RequestHandler = (_request, _response, next) => {
  next();
};
const ok: RequestHandler = (_request, response) => {
  response.end();
};
const overrideMethod: RequestHandler = (asked, _response, next) => {
  asked.method = 'DELETE';
  next();
};

describe.each(frameworks)('byRoute() on $version', ({ version, express }) => {
  const newRouter = express.Router;
  /** The application as middleware of a router, which its types do not know. */
  const newHidden = express as unknown as () => ReturnType<typeof newRouter>;
  const limit = rateLimit({
    ...{ limit: 1000, window: '1h', key: byRoute() },
    onDecision: (_decision, { key, response }) => response.set('X-Key', key as string),
  });
  /** The key of each of these requests. */
  const keysOf = async (app: Express, ...requests: readonly string[]): Promise<string[]> => {
    const { answers } = await serve(app);
    return (await answers(...requests)).map(({ headers }) => String(headers['x-key']));
  };
  const onRoutes: Table = {
    'the template of the route, whatever the id and the spelling': [
      (app) => app.get('/users/:id', limit, ok),
      { '/users/42?full=1': '/users/:id', '/USERS/%31/': '/users/:id' },
    ],
    'with the mount paths of routers in routers': [
      (app) => app.use('/api/v1', newRouter().use('/orders', newRouter().get('/list', limit, ok))),
      { '/api/v1/orders/list': '/api/v1/orders/list', '/API/V1/ORDERS/LIST': '/api/v1/orders/list' },
    ],
    'another for a router or an application that is mounted in another place': [
      (app) => {
        const [router, mounted] = [newRouter().get('/list', limit, ok), express().get('/list', limit, ok)];
        app.use('/a', router).use('/b', router).use('/shop', mounted).use('/shops/:shop', mounted);
      },
      {
        ...{ '/a/list': '/a/list', '/b/list': '/b/list', '/SHOP/list': '/shop/list' },
        ...{ '/shops/1/list': '/shops/:shop/list', '/shops/%32/list': '/shops/:shop/list' },
      },
    ],
    'the same whatever the parameters of mount paths are': [
      (app) => app.use('/:region/tenants/:id', newRouter().get('/login', limit, ok)),
      {
        '/eu/tenants/1/login': '/:region/tenants/:id/login',
        '/us/tenants/%32/login': '/:region/tenants/:id/login',
        '/tenants/tenants/tenants/login': '/:region/tenants/:id/login',
      },
    ],
    'the same for parameters of routers in routers inside a mounted application': [
      (app) => {
        const inner = newRouter({ mergeParams: true }).get('/login', limit, ok);
        app.use('/:version', express().use('/tenants/:tenant', newRouter().use('/users/:user', inner)));
      },
      {
        '/v1/tenants/1/users/1/login': '/:version/tenants/:tenant/users/:user/login',
        '/v2/tenants/2/users/2/login': '/:version/tenants/:tenant/users/:user/login',
      },
    ],
    'a star and the route if a router hides how an application is mounted': [
      (app) => app.use('/:hidden', newRouter().use('/shop', newHidden().get('/list', limit, ok))),
      { '/Hidden/Shop/list': '*/list', '/%68idden/shop/list': '*/list' },
    ],
    'another for /API and /api only if the application tells them apart': [
      (app) => {
        app.enable('case sensitive routing');
        for (const path of ['/api', '/API']) app.use(path, newRouter().get('/list', limit, ok));
      },
      { '/api/list': '/api/list', '/API/list': '/API/list', '/api/LIST': '/api/list' },
    ],
    'one for the paths of a route that has several': [
      (app) => app.get(['/colour', '/color'], limit, ok),
      { '/colour': '/colour,/color', '/color': '/colour,/color' },
    ],
    'the pattern of a route that is a regular expression': [
      (app) => app.get(/^\/files\/(.+)$/, limit, ok),
      { '/files/a': '/^\\/files\\/(.+)$/', '/files/b': '/^\\/files\\/(.+)$/' },
    ],
  };

  const ahead: Table = {
    'the template of the route that is going to match, whatever the spelling': [
      (app) => app.use(limit).get('/users/:id', ok).get('/users/:id/orders', ok),
      { '/users/2?x=1': '/users/:id', '/USERS/%31/': '/users/:id', '/users/1/orders': '/users/:id/orders' },
    ],
    'found in routers in routers': [
      (app) => app.use(limit).use('/API/v1', newRouter().use('/users/:id', newRouter().get('/list', ok))),
      { '/api/V1/users/1/list': '/api/v1/users/:id/list', '/API/v1/users/2/LIST/': '/api/v1/users/:id/list' },
    ],
    'that of a route in its own application': [
      (app) => app.use('/shop', express().use(limit).get('/orders/:id', ok)),
      { '/shop/orders/7': '/shop/orders/:id' },
    ],
    'not that of a route ahead of the limiter': [
      (app) => app.get('/users/me', pass).all(/.*/, pass).use(limit).get('/users/:id', ok),
      { '/users/me': '/users/:id' },
    ],
    'that of the request’s method': [
      (app) => app.use(limit).post('/things/:name', ok).get('/things/:id', ok),
      { '/things/1': '/things/:id', 'post /things/1': '/things/:name', 'head /things/1': '/things/:id' },
    ],
    'that of another method if a method override stands behind': [
      (app) => app.use(limit, overrideMethod).delete('/things/:id', ok),
      { 'post /things/1': '/things/:id', 'delete /things/2': '/things/:id' },
    ],
    'one for all requests that no route matches': [
      (app) => app.use(limit).get('/known', ok),
      { '/a': '(unmatched)', '/b/c': '(unmatched)', '/known/more': '(unmatched)' },
    ],
    'the mount path of a function on a path': [
      (app) => app.use(limit).use('/files', ok),
      { '/files/a': '/files', '/FILES/b/c': '/files' },
    ],
    'the mount path of the limiter, without its parameters': [
      (app) => app.use('/early/:id', limit, ok),
      { '/early/1/a': '/early/:id', '/early/2': '/early/:id' },
    ],
    'the mount path of an application that has not been entered': [
      (app) => app.use(limit).use('/shop', express().get('/orders/:id', ok)),
      { '/shop/orders/1': '/shop', '/shop/list': '/shop' },
    ],
    'a star in an application that a router hides': [
      (app) => app.use(newRouter().use('/:tenant', newHidden().use(limit, ok))),
      { '/a/list': '*', '/%61/list': '*' },
    ],
  };

  it.each(Object.entries({ ...onRoutes, ...ahead }))('is %s', async (_title, [build, expected]) => {
    const app = express();
    build(app);

    const keys = await keysOf(app, ...Object.keys(expected));
    /** Express 4 knows of a mount path with parameters its pattern: one for each expected key. */
    const ofPattern = new Map<string, string>();
    for (const [i, wanted] of Object.values(expected).entries()) {
      const key = keys[i] as string;
      if (key.includes('/^') && !ofPattern.has(key)) ofPattern.set(key, wanted);
    }

    expect(keys.map((key) => ofPattern.get(key) ?? key)).toEqual(Object.values(expected));
    expect(new Set(ofPattern.values()).size).toBe(ofPattern.size);
  });

  /** Paths that one pattern takes: each a key of its own would be no limit. */
  const patterns: readonly (readonly [string | RegExp | string[], string, string])[] = [
    ...(version === 'Express 4'
      ? ([
          ['/fo+', '/fo', '/foo'],
          ['/a?p?i', '/api', '/i'],
        ] as const)
      : ([['/x{y}{z}', '/x', '/xyz']] as const)),
    ...[[/^\/v\d+/, '/v1', '/v22'] as const, [/^\/w(\d+)(?=\/|$)/, '/w1', '/w22'] as const],
    ...[['/:tenant', '/a', '/%62'] as const, ['/v:version-:build', '/v1-2', '/V2-2'] as const],
    [['/a/:id', '/b'], '/a/1', '/a/2'],
  ];
  it.each(patterns)('is one key for each mount by the pattern %p', async (pattern, one, other) => {
    const limited = newRouter().get('/login', limit, ok);
    const apps = [
      express().use(pattern, limited),
      express().use(pattern, express().get('/login', limit, ok)),
      express().use(limit).use(pattern, newRouter().get('/login', ok)),
      express().use(pattern, limit, ok),
      express().use(pattern, (asked, response, next) => void limited(asked, response, next)),
    ];

    const keys = await Promise.all(apps.map((app) => keysOf(app, `${one}/login`, `${other}/login`)));

    expect(keys.flat()).not.toContain('undefined');
    expect(keys).toEqual(keys.map(([key]) => [key, key]));
  });

  it('warns once of a path whose routes are hidden', async () => {
    const path = `/files-of-${version.replace(' ', '-').toLowerCase()}`;
    const app = express().use(limit).use(path, ok);

    await keysOf(app, `${path}/a`, `${path}/b`);

    expect(warnings()).toMatchObject([
      { type: 'SluiceWarning', code: 'SLUICE_ROUTE_UNKNOWN', message: expect.stringContaining(path) },
    ]);
  });

  it('is escaped by no spelling of a route in routers in routers', async () => {
    const calls: unknown[] = [];
    const login = newRouter().get(
      '/login',
      rateLimit({ limit: 1, window: '1h', key: byRoute() }),
      (asked, response) => {
        calls.push(asked.url);
        response.end();
      },
    );
    const { ask } = await serve(express().use('/:version/auth', newRouter().use(login)));

    for (const target of spellingsOf('/auth/login')) {
      for (const version of ['/v1', '/V2']) await ask(version + target);
    }

    expect(calls).toHaveLength(1);
  });

  it('leaves the request as it is, and calls no function for parameters', async () => {
    let asked = 0;
    const router = newRouter();
    router.param('id', (_request, _response, next) => {
      asked++;
      next();
    });
    router.get('/users/:id', ({ baseUrl, path, params, url }, response) => {
      response.json({ baseUrl, path, params, url });
    });

    const { ask } = await serve(express().use(limit).use('/api', router));
    const { body } = await ask('/api/users/7?x=1');

    expect(JSON.parse(body)).toEqual({ baseUrl: '/api', path: '/users/7', params: { id: '7' }, url: '/users/7?x=1' });
    expect(asked).toBe(1);
  });
});

/** A layer of the routers 2.0 to 2.2, which Express 5.0 and 5.1 may come with: they keep no pattern. */
function oldLayer(regexp: RegExp, stack: readonly object[]): object {
  return {
    name: 'router',
    handle: Object.assign(() => {}, { stack }),
    match(this: { path?: string; params?: object }, path: string) {
      const match = regexp.exec(path);
      if (match === null) return false;
      this.path = match[0];
      this.params = { ...match.groups };
      return true;
    },
  };
}

describe('byRoute(), if a router keeps no patterns', () => {
  const route = { path: '/list' };
  const inner = [{ name: 'handle', route, handle: () => {}, match: () => true }];
  const tenants = /^\/tenants\/(?<tenant>[^/]+)\/(?<shop>[^/]+)/i;

  it.each([
    [
      'what was taken, in lower case',
      [oldLayer(/^\/other/i, []), oldLayer(/^\/api(?=\/|$)/i, inner)],
      '/API',
      '/api/list',
    ],
    ['the names of its parameters', [oldLayer(tenants, inner)], '/Tenants/tenants/5', '/:tenant/:shop/list'],
    ['a star if no router leads to the route', [oldLayer(/^\/api/, [])], '/api', '*/list'],
  ])('is %s', (_what, stack, baseUrl, expected) => {
    const app = { enabled: () => false, router: { stack } };

    expect(routeTemplate({ app, baseUrl, path: '/list', route, method: 'GET' } as never, undefined)).toBe(expected);
  });
});
