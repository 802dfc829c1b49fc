import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { byRoute, fixedWindow, rateLimit } from '@sluice/express';
import type { Application, RequestHandler } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const options = { policy: fixedWindow({ limit: 1, window: '1h' }), key: byRoute() };

/** Paths that one pattern takes, all of them: each a key of its own would be no limit. */
const patterns: readonly [string, string | RegExp, readonly [string, string]][] = [
  ['Express 4', '/fo+', ['/fo', '/foo']],
  ['Express 4', '/a?p?i', ['/api', '/i']],
  ['Express 5', '/x{y}{z}', ['/x', '/xyz']],
  ['Express 4', /^\/v\d+/, ['/v1', '/v22']],
  ['Express 5', /^\/v\d+/, ['/v1', '/v22']],
  ['Express 4', /^\/w\d+(?=\/|$)/, ['/w1', '/w22']],
  ['Express 5', /^\/w\d+(?=\/|$)/, ['/w1', '/w22']],
  ['Express 4', '/:tenant', ['/a', '/%62']],
  ['Express 5', '/:tenant', ['/a', '/%62']],
];

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(frameworks)('an application that is mounted twice on $version', ({ express }) => {
  it('is one key on each mount, whatever the client writes for a parameter', async () => {
    const app = express();
    const mounted = express();
    mounted.get('/list', rateLimit(options), (_request, response) => {
      response.end();
    });
    app.use('/shops/:shop', mounted);
    app.use('/plain', mounted);

    const statuses: number[] = [];
    for (const path of ['/shops/a/list', '/shops/b/list', '/plain/list', '/PLAIN/list']) {
      statuses.push((await request(app).get(path)).status);
    }

    expect(statuses).toEqual([200, 429, 200, 429]);
  });
});

describe.each(frameworks)('a router on $version', ({ express }) => {
  it.each([
    ['ahead of the routes', true],
    ['ahead of the routes', false],
    ['on the route', true],
    ['on the route', false],
  ])(
    'is one key for its spellings, %s, also where the application distinguishes capitals: %s',
    async (place, sensitive) => {
      const ok: RequestHandler = (_request, response) => {
        response.end();
      };
      const app = express();
      if (sensitive) app.enable('case sensitive routing');
      const [outer, inner] = [express.Router(), express.Router()];
      if (place === 'ahead of the routes') app.use(rateLimit(options));
      inner.get('/login', place === 'on the route' ? rateLimit(options) : ok, ok);
      outer.use('/v1', inner);
      app.use('/api', outer);

      const statuses: number[] = [];
      for (const path of ['/api/v1/login', '/api/V1/login', '/api/v1/LOGIN']) {
        statuses.push((await request(app).get(path)).status);
      }

      expect(statuses).toEqual([200, 429, 429]);
    },
  );

  it('is one key for each spelling that it distinguishes itself', async () => {
    const app = express();
    const outer = express.Router({ caseSensitive: true });
    for (const path of ['/v1', '/V1']) {
      const inner = express.Router();
      inner.get('/login', rateLimit(options), (_request, response) => {
        response.end();
      });
      outer.use(path, inner);
    }
    app.use(outer);

    const statuses: number[] = [];
    for (const path of ['/v1/login', '/V1/login']) statuses.push((await request(app).get(path)).status);

    expect(statuses).toEqual([200, 200]);
  });
});

describe.each(patterns)('a mount on %s by the pattern %s', (version, pattern, paths) => {
  const { express } = frameworks.find((framework) => framework.version === version) as (typeof frameworks)[number];
  const ok: RequestHandler = (_request, response) => {
    response.end();
  };

  const statuses = async (app: Application): Promise<number[]> => {
    const all: number[] = [];
    for (const path of paths) all.push((await request(app).get(`${path}/login`)).status);
    return all;
  };

  it('is one key, of a router with the limiter on its route', async () => {
    const app = express();
    const router = express.Router();
    router.get('/login', rateLimit(options), ok);
    app.use(pattern, router);

    expect(await statuses(app)).toEqual([200, 429]);
  });

  it('is one key, of an application with the limiter on its route', async () => {
    const app = express();
    const mounted = express();
    mounted.get('/login', rateLimit(options), ok);
    app.use(pattern, mounted);

    expect(await statuses(app)).toEqual([200, 429]);
  });

  it('is one key ahead of the routes', async () => {
    const app = express();
    const router = express.Router();
    router.get('/login', ok);
    app.use(rateLimit(options));
    app.use(pattern, router);

    expect(await statuses(app)).toEqual([200, 429]);
  });

  it('is one key ahead of a function, and not a warning for each path', async () => {
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const app = express();
    app.use(pattern, rateLimit(options), ok);

    expect(await statuses(app)).toEqual([200, 429]);
    expect(emitWarning.mock.calls.length).toBeLessThanOrEqual(1); // the other version may have warned of the same
  });

  it('is one key of a router that is called by hand', async () => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const app = express();
    const router = express.Router();
    router.get('/login', rateLimit(options), ok);
    app.use(pattern, (req, response, next) => {
      router(req, response, next);
    });

    expect(await statuses(app)).toEqual([200, 429]);
  });
});
