import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { byRoute, fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/express';
import { exchange, listen, statuses } from '@sluice/testkit';
import type { Express, RequestHandler } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const options: RateLimitOptions = { policy: fixedWindow({ limit: 1, window: '1h' }), key: byRoute() };
const tellKey: RequestHandler = (req, response) => {
  response.json(req.rateLimit?.key ?? null);
};

describe.each(frameworks)('byRoute() on $version', ({ version, express }) => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const keyOf = async (app: Express, path: string) => (await request(app).get(path)).body as unknown;

  it('is the template of the route', async () => {
    const app = express();
    app.get('/users/:id', rateLimit(options), tellKey);

    expect(await keyOf(app, '/users/42?full=1')).toBe('/users/:id');
  });

  it('has one budget for all ids of a route, and one for each route', async () => {
    const app = express();
    const limiter = rateLimit(options);
    app.get('/users/:id', limiter, tellKey);
    app.get('/orders/:id', limiter, tellKey);

    const answers = [
      await request(app).get('/users/1'),
      await request(app).get('/users/2'),
      await request(app).get('/orders/1'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  });

  it('begins with the path a router is mounted on', async () => {
    const app = express();
    const inner = express.Router();
    const outer = express.Router();
    inner.get('/list', rateLimit(options), tellKey);
    outer.use('/orders', inner);
    app.use('/api/v1', outer);

    expect(await keyOf(app, '/api/v1/orders/list')).toBe('/api/v1/orders/list');
  });

  it('begins with the path an application is mounted on', async () => {
    const app = express();
    const mounted = express();
    mounted.get('/list', rateLimit(options), tellKey);
    app.use('/shop', mounted);

    expect(await keyOf(app, '/SHOP/list')).toBe('/shop/list');
  });

  it('is another for a router that is mounted in another place', async () => {
    const app = express();
    const router = express.Router();
    router.get('/list', rateLimit(options), tellKey);
    app.use('/a', router);
    app.use('/b', router);

    expect([await keyOf(app, '/a/list'), await keyOf(app, '/b/list')]).toEqual(['/a/list', '/b/list']);
  });

  it.each([
    [
      'parameters of the path a router is mounted on',
      '/tenants/:tenant',
      ['/tenants/1/login', '/tenants/2/login', '/TENANTS/3/LOGIN/'],
    ],
    [
      'two of them',
      '/:region/tenants/:tenant',
      ['/eu/tenants/1/login', '/us/tenants/1/login', '/us/tenants/%31/login'],
    ],
  ])('does not depend on %s', async (_what, mountPath, paths) => {
    const app = express();
    const router = express.Router();
    let handled = 0;
    router.get('/login', rateLimit(options), (_request, response) => {
      handled++;
      response.end();
    });
    app.use(mountPath, router);

    for (const path of paths) await request(app).get(path);

    expect(handled).toBe(1);
  });

  it('does not depend on parameters of paths that routers are mounted on inside each other, or inside a mounted application', async () => {
    const app = express();
    const mounted = express();
    const outer = express.Router();
    const inner = express.Router({ mergeParams: true });
    let handled = 0;
    inner.get('/login', rateLimit(options), (_request, response) => {
      handled++;
      response.end();
    });
    outer.use('/users/:user', inner);
    mounted.use('/tenants/:tenant', outer);
    app.use('/:version', mounted);

    for (const path of [
      '/v1/tenants/1/users/1/login',
      '/v1/tenants/1/users/2/login',
      '/v1/tenants/2/users/1/login',
      '/v2/tenants/1/users/1/login',
    ]) {
      await request(app).get(path);
    }

    expect(handled).toBe(1);
  });

  it('tells two mount paths with parameters apart', async () => {
    const app = express();
    const limiter = rateLimit(options);
    for (const path of ['/tenants/:id', '/shops/:id']) {
      const router = express.Router();
      router.get('/list', limiter, tellKey);
      app.use(path, router);
    }

    const answers = [];
    for (const path of [
      '/tenants/1/list',
      '/shops/1/list',
      '/tenants/shops/list',
      '/shops/tenants/list',
      '/shops/shops/list',
    ]) {
      answers.push(await request(app).get(path));
    }

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429, 429]);
  });

  it.each([
    ['a regular expression', /^\/t\d+/, ['/t1/list', '/t2/list', '/t33/list']],
    ['a regular expression with a group', /^\/t(\d+)/, ['/t1/list', '/t2/list', '/t33/list']],
    ['a list in which one has a parameter', ['/a/:id', '/b'], ['/a/1/list', '/a/2/list', '/a/3/list']],
    ['parameters inside a segment', '/v:version-:build', ['/v1-2/list', '/v1-3/list', '/V2-2/list']],
  ])('does not depend on what matches %s', async (_what, mountPath, paths) => {
    const app = express();
    const router = express.Router();
    router.get('/list', rateLimit(options), tellKey);
    app.use(mountPath, router);

    const answers = [];
    for (const path of paths) answers.push(await request(app).get(path));

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
  });

  it('is found past other routers on the same path, and past paths that cannot be decoded', async () => {
    const app = express();
    const limiter = rateLimit(options);
    const [first, second] = [express.Router(), express.Router()];
    first.get('/other', tellKey);
    second.get('/list', limiter, tellKey);
    app.use('/:shop', first);
    app.use('/:tenant', second);
    const decoy = express.Router();
    app.use('/plain', decoy);

    const answers = [
      await request(app).get('/1/list'),
      await request(app).get('/2/list'),
      await request(app).get('/%E8/list'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 400]);
  });

  it('is another for an application that is mounted in another place', async () => {
    const app = express();
    const mounted = express();
    mounted.get('/list', rateLimit(options), tellKey);
    app.use('/a', mounted);
    app.use('/b', mounted);

    expect([await keyOf(app, '/a/list'), await keyOf(app, '/b/list')]).toEqual(['/a/list', '/b/list']);
  });

  it('is a star and the route where a router hides how an application is mounted, whatever the path says', async () => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const app = express();
    const router = express.Router();
    const mounted = express();
    mounted.get('/list', rateLimit(options), tellKey);
    router.use('/shop', mounted as unknown as RequestHandler);
    app.use('/:hidden', router);

    const answers = [await request(app).get('/Hidden/Shop/list'), await request(app).get('/%68idden/shop/list')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.body).toBe('*/list');
  });

  it('is a star ahead of the routes of such an application', async () => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const app = express();
    const router = express.Router();
    const mounted = express();
    mounted.use(rateLimit(options), tellKey);
    router.use('/:tenant', mounted as unknown as RequestHandler);
    app.use(router);

    const answers = [await request(app).get('/a/list'), await request(app).get('/%61/list')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.body).toBe('*');
  });

  it('counts every spelling that reaches the handler against one budget', async () => {
    const app = express();
    const router = express.Router();
    let handled = 0;
    router.post('/login', rateLimit(options), (_request, response) => {
      handled++;
      response.end();
    });
    app.use('/auth', router);
    const { port, close } = await listen(app);
    const targets = [
      '/auth/login',
      '/AUTH/LOGIN',
      '/auth/login/',
      '/Auth/Login/',
      '/auth/login?x=1',
      '//auth/login',
      '/auth//login',
      '/auth/./login',
    ];
    const spelt = [
      ...targets,
      '/auth/%6Cogin',
      '/%61uth/login',
      '/auth/login;a=1',
      '/auth/login%2F',
      '/auth/login%00',
      'http://test/auth/login',
    ];

    const answers: number[] = [];
    for (const target of spelt) {
      const text = await exchange(
        port,
        `POST ${target} HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      answers.push(...statuses(text));
    }
    await close();

    expect(handled).toBe(1);
    expect(answers.slice(0, 5)).toEqual([200, 429, 429, 429, 429]);
    expect(answers.filter((status) => status !== 200 && status !== 429 && status !== 404)).toEqual([]);
  });

  it('tells /API and /api apart only where the application does', async () => {
    const app = express();
    app.enable('case sensitive routing');
    const router = express.Router();
    router.get('/list', rateLimit(options), tellKey);
    app.use('/api', router);
    app.use('/API', router);

    expect([await keyOf(app, '/api/list'), await keyOf(app, '/API/list')]).toEqual(['/api/list', '/API/list']);
  });

  it('is one for the paths of a route that has several', async () => {
    const app = express();
    app.get(['/colour', '/color'], rateLimit(options), tellKey);

    const answers = [await request(app).get('/colour'), await request(app).get('/color')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  });

  it('is the pattern of a route that is a regular expression', async () => {
    const app = express();
    app.get(/^\/files\/(.+)$/, rateLimit(options), tellKey);

    const answers = [await request(app).get('/files/a'), await request(app).get('/files/b')];

    expect(answers[0]?.body).toBe('/^\\/files\\/(.+)$/');
    expect(answers[1]?.status).toBe(429);
  });

  describe('before a route has matched', () => {
    it('is the path it is mounted on, with one warning', async () => {
      const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const app = express();
      const path = `/${version.toLowerCase().replace(' ', '-')}`;
      app.use(path, rateLimit(options), tellKey);

      const answers = [
        await request(app).get(`${path}/a`),
        await request(app).get(`${path}/b`),
        await request(app).get(path.toUpperCase()),
      ];

      expect(answers[0]?.body).toBe(path);
      expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
      expect(emitWarning.mock.calls).toEqual([
        [
          expect.stringContaining(path),
          expect.objectContaining({ type: 'SluiceWarning', code: 'SLUICE_ROUTE_UNKNOWN' }),
        ],
      ]);
    });

    it('does not depend on parameters of the path of the router it stands in', async () => {
      jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const app = express();
      const router = express.Router();
      router.use(rateLimit(options), tellKey);
      app.use('/inner/:id', router);

      const answers = [await request(app).get('/inner/1/a'), await request(app).get('/inner/2/b')];

      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    });

    it('does not depend on parameters of that path', async () => {
      jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const app = express();
      app.use('/early/:id', rateLimit(options), tellKey);

      const answers = [await request(app).get('/early/1'), await request(app).get('/early/2')];

      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    });
  });
});
