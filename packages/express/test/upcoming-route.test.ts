import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { byRoute, fixedWindow, rateLimit, type RateLimitHandler } from '@sluice/express';
import type { Express, RequestHandler } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const tellKey: RequestHandler = (req, response) => {
  response.json(req.rateLimit?.key ?? null);
};
const pass: RequestHandler = (_request, _response, next) => {
  next();
};

describe.each(frameworks)('byRoute() in app.use of $version', ({ version, express }) => {
  const wildcard = version === 'Express 4' ? '*' : '/*rest';
  let emitWarning: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const limiter = (): RateLimitHandler =>
    rateLimit({ policy: fixedWindow({ limit: 1000, window: '1h' }), key: byRoute() });
  const limited = (): Express => express().use(limiter());
  const keyOf = async (app: Express, path: string, method: 'get' | 'post' | 'delete' = 'get') =>
    (await request(app)[method](path)).body as unknown;
  /** Where nothing answers with it: as the limiter tells it. */
  const keysTold = (app: Express): unknown[] => {
    const keys: unknown[] = [];
    app.use(
      rateLimit({
        limit: 1000,
        window: '1h',
        key: byRoute(),
        onDecision: (_decision, { key }) => {
          keys.push(key);
        },
      }),
    );
    return keys;
  };

  it('is the template of the route that is going to match, whatever the spelling', async () => {
    const app = limited();
    app.get('/users/:id', tellKey);
    app.get('/users/:id/orders', tellKey);

    const keys = [];
    for (const path of ['/users/1', '/users/2?x=1', '/USERS/3/', '/users/%31', '/users/1/orders']) {
      keys.push(await keyOf(app, path));
    }

    expect(keys).toEqual(['/users/:id', '/users/:id', '/users/:id', '/users/:id', '/users/:id/orders']);
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it('is found in nested routers, with the paths that they are mounted on', async () => {
    const app = limited();
    const [outer, inner] = [express.Router(), express.Router({ mergeParams: true })];
    inner.get('/list', tellKey);
    outer.use('/users/:user', inner);
    app.use('/API/v1', outer);

    const keys = [await keyOf(app, '/api/V1/users/1/list'), await keyOf(app, '/API/v1/users/2/LIST/')];

    expect(keys[1]).toBe(keys[0]);
    expect(keys[0]).toMatch(/^\/api\/v1\/.*users.*\/list$/);
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it('is that of a route in its own router, where the limiter stands in one', async () => {
    const app = express();
    const router = express.Router();
    router.use(limiter());
    router.get('/orders/:id', tellKey);
    app.use('/shop', router);

    expect(await keyOf(app, '/shop/orders/7')).toBe('/shop/orders/:id');
  });

  it('does not mean routes ahead of the limiter', async () => {
    const app = express();
    app.get('/users/me', (_request, _response, next) => {
      next();
    });
    app.use(limiter());
    app.get('/users/:id', tellKey);

    expect(await keyOf(app, '/users/me')).toBe('/users/:id');
  });

  it('looks past a wildcard route ahead that lets requests pass', async () => {
    const app = express();
    app.all(wildcard, pass);
    app.use(limiter());
    app.get('/a/:id', tellKey);
    app.get('/b', tellKey);

    expect([await keyOf(app, '/a/1'), await keyOf(app, '/b')]).toEqual(['/a/:id', '/b']);
  });

  it('is that of the request’s method where paths have several routes', async () => {
    const app = limited();
    app.get('/things/:id', tellKey);
    app.post('/things/:name', tellKey);

    expect([await keyOf(app, '/things/1'), await keyOf(app, '/things/1', 'post')]).toEqual([
      '/things/:id',
      '/things/:name',
    ]);
  });

  it('is that of another method’s route where a method override stands behind', async () => {
    const app = express();
    const keys = keysTold(app);
    app.use((req, _response, next) => {
      req.method = req.get('x-http-method-override') ?? req.method;
      next();
    });
    app.delete('/things/:id', tellKey);

    await request(app).post('/things/1').set('X-HTTP-Method-Override', 'DELETE');
    await request(app).delete('/things/2');

    expect(keys).toEqual(['/things/:id', '/things/:id']);
  });

  it('is that of GET for a HEAD request', async () => {
    const app = express();
    const keys = keysTold(app);
    app.post('/pages/:form', tellKey);
    app.get('/pages/:id', tellKey);

    await request(app).head('/pages/1');
    await request(app).get('/pages/1');

    expect(keys).toEqual(['/pages/:id', '/pages/:id']);
  });

  it('is one for all requests that no route matches', async () => {
    const app = express();
    const keys = keysTold(app);
    app.get('/known', tellKey);

    for (const path of ['/a', '/b/c', '/known/more']) await request(app).get(path);

    expect(new Set(keys)).toEqual(new Set(['(unmatched)']));
  });

  it('is the mount path of a function that stands on a path, with one warning', async () => {
    const app = limited();
    const path = `/files-of-${version.replace(' ', '-').toLowerCase()}`;
    app.use(path, tellKey);

    const keys = [];
    for (const asked of [`${path}/a`, `${path}/b/c`, `${path.toUpperCase()}/d`]) keys.push(await keyOf(app, asked));

    expect(keys).toEqual([path, path, path]);
    expect(emitWarning.mock.calls).toEqual([
      [expect.stringContaining(path), expect.objectContaining({ code: 'SLUICE_ROUTE_UNKNOWN' })],
    ]);
  });

  it('is the mount path of an application that has not been entered, with one warning', async () => {
    const app = limited();
    const path = `/shop-of-${version.replace(' ', '-').toLowerCase()}`;
    const mounted = express();
    mounted.get('/orders/:id', tellKey);
    mounted.get('/list', tellKey);
    app.use(path, mounted);

    const keys = [];
    for (const asked of [`${path}/orders/1`, `${path}/list`]) keys.push(await keyOf(app, asked));

    expect(keys).toEqual([path, path]);
    expect(emitWarning.mock.calls).toEqual([
      [expect.stringContaining(path), expect.objectContaining({ code: 'SLUICE_ROUTE_UNKNOWN' })],
    ]);
  });

  it('is the template of a mounted application’s route, where the limiter stands in that application', async () => {
    const app = express();
    const mounted = express();
    mounted.use(limiter());
    mounted.get('/orders/:id', tellKey);
    app.use('/shop', mounted);

    expect(await keyOf(app, '/shop/orders/1')).toBe('/shop/orders/:id');
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it('asks no router with parameters for more than its template', async () => {
    const app = limited();
    const router = express.Router();
    let asked = 0;
    router.param('id', (_request, _response, next) => {
      asked++;
      next();
    });
    router.get('/:id/list', tellKey);
    app.use('/tenants', router);

    const keys = [await keyOf(app, '/tenants/1/list'), await keyOf(app, '/tenants/2/list')];

    expect(keys).toEqual(['/tenants/:id/list', '/tenants/:id/list']);
    expect(asked).toBe(2);
  });

  it('leaves the parameters and paths of the request as they are', async () => {
    const app = limited();
    const router = express.Router();
    router.get('/users/:id', ({ baseUrl, path, params, url }, response) => {
      response.json({ baseUrl, path, params, url });
    });
    app.use('/api', router);

    expect(await keyOf(app, '/api/users/7?x=1')).toEqual({
      baseUrl: '/api',
      path: '/users/7',
      params: { id: '7' },
      url: '/users/7?x=1',
    });
  });
});
