import { describe, expect, it } from '@jest/globals';
import sluice, { RateLimit, byUser } from '@sluice/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answersOf, clientOf, counting, create, limited, one, statusesOf, ten, two } from './requests.ts';

const ok = (): string => 'ok';
const at = (rateLimit: unknown): object => ({ config: { rateLimit } });

describe('the limit of a route', () => {
  it('replaces that of the plugin, and takes nothing from it', async () => {
    const store = counting();
    const app = await limited({ policy: two, store });
    app.get('/report', at({ name: 'report', policy: one }), ok);
    app.get('/other', ok);

    const all = await answersOf(app, '/report', '/report', '/other', '/other', '/other');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200, 429]);
    expect(all[1]?.headers['ratelimit']).toBe('"report";r=0;t=60');
    expect(store.calls).toBe(5);
  });

  it('is none with false', async () => {
    const app = await limited({ policy: one });
    app.get('/health', at(false), ok);

    const all = await answersOf(app, '/health', '/health', '/nowhere', '/health');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
    expect(all[0]?.headers['ratelimit']).toBeUndefined();
  });

  it.each([
    ['/', /^GET\.$/],
    ['/items/:id/parts/:part', /^GET\.items\._id\.parts\._part$/],
    ['/items/_id', /^GET\.items\._id-[0-9a-f]{10}$/],
    ['/files/*', /^GET\.files\.-[0-9a-f]{10}$/],
    ['/v1.0/:id(^\\d+$)', /^GET\.v1\.0\._idd-[0-9a-f]{10}$/],
    [`/${'a'.repeat(60)}`, new RegExp(`^GET\\.${'a'.repeat(45)}-[0-9a-f]{10}$`)],
  ])('has a readable name that no other route has: %s', async (url, expected) => {
    const app = await limited();
    app.get(url, at({ policy: one }), (request) => request.rateLimit?.decision.policy);

    const [answer] = await answersOf(app, url.replaceAll(/:\w+(?:\([^)]*\))?/g, '11'));

    expect(answer?.body).toMatch(expected);
  });

  it('has a number as the second of a place, which is the name of no other route', async () => {
    const app = await limited();
    const limit = { policy: two };
    for (const url of ['/a-2', '/a/2', '/a/_2']) app.get(url, at(limit), ok);
    app.get('/a', { ...at(limit), onRequest: app.rateLimit({ policy: ten }) }, ok);

    const all = await answersOf(app, '/a-2', '/a/2', '/a/_2', '/a');

    expect(all.map(({ headers }) => headers['ratelimit-policy'])).toEqual([
      '"GET.a-2";q=2;w=60',
      '"GET.a.2";q=2;w=60',
      expect.stringMatching(/^"GET\.a\._2-[0-9a-f]{10}";q=2;w=60$/),
      '"GET.a_2";q=2;w=60, "GET.a";q=10;w=60',
    ]);
  });

  it.each([{}, { name: 'named' }])('is one for GET and HEAD of a route with several methods: %j', async (name) => {
    const app = create();
    const declare = (url: string): void => {
      app.route({ method: ['GET', 'POST'], url, ...at({ policy: two, ...name }), handler: ok });
    };
    declare('/early');
    await app.register(sluice);
    if (Object.keys(name).length === 0) declare('/late');

    expect(await statusesOf(app, 'GET /early', 'HEAD /early', 'POST /early', 'GET /early')).toEqual([
      200, 200, 429, 429,
    ]);
  });

  it('is another for each of several routes that differ in their constraints alone', async () => {
    const app = await limited();
    for (const version of ['1.0.0', '2.0.0']) app.get('/a', { constraints: { version }, ...at({ policy: one }) }, ok);
    const { ask } = await clientOf(app);
    const get = async (version: string) => (await ask('/a', { headers: { 'accept-version': version } })).status;

    const statuses = [await get('1.0.0'), await get('2.0.0'), await get('1.0.0'), await get('2.0.0')];

    expect(statuses).toEqual([200, 200, 429, 429]);
  });
});

describe('the limit of a scope', () => {
  it('may be in the config of the scope, also if a plugin passes that on to its routes', async () => {
    const app = await limited({ policy: ten });
    const proxyLike = (scope: FastifyInstance, { config }: { config?: object }, done: () => void): void => {
      for (const url of ['/a', '/b']) scope.get(url, { config: { ...config } }, ok);
      done();
    };
    await app.register(proxyLike, { prefix: '/api', config: { rateLimit: { name: 'orders', policy: two } } });
    await app.register(proxyLike, { prefix: '/free', config: { rateLimit: false } });

    const all = await answersOf(app, '/api/a', '/api/b', '/api/a', '/free/a');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    expect(all[0]?.headers['ratelimit']).toBe('"orders";r=1;t=60');
    expect(all[3]?.headers['ratelimit']).toBeUndefined();
  });

  it('replaces those around it, for its routes alone, as that of a route replaces it', async () => {
    const app = await limited({ policy: ten });
    await app.register(
      async (scope) => {
        await scope.register(sluice, { policy: two });
        scope.get('/a', at({ name: 'a', policy: one }), ok);
        scope.get('/b', ok);
      },
      { prefix: '/api' },
    );
    app.get('/free', ok);

    const all = await answersOf(app, '/api/a', '/api/a', '/api/b', '/api/b', '/api/b', '/free');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200, 429, 200]);
    expect(all[0]?.headers['ratelimit-policy']).toBe('"a";q=1;w=60');
    expect(all[2]?.headers['ratelimit-policy']).toMatch(/^"scope-[0-9a-f]{10}";q=2;w=60$/);
    expect(all[5]?.headers['ratelimit']).toBe('"default";r=9;t=60');
  });

  it('is decided once if the outer one is registered after it', async () => {
    const app = create();
    void app.register(
      async (scope) => {
        await scope.register(sluice, { name: 'inner', policy: two });
        scope.get('/a', ok);
        scope.get('/b', at({ name: 'b', policy: one }), ok);
      },
      { prefix: '/api' },
    );
    void app.register(sluice, { policy: ten });

    const all = await answersOf(app, '/api/a', '/api/b', '/nowhere');

    expect(all.map(({ headers }) => headers['ratelimit'])).toEqual([
      '"inner";r=1;t=60',
      '"b";r=0;t=60',
      '"default";r=9;t=60',
    ]);
  });

  it('stays in force inside a scope that only sets what its limits inherit', async () => {
    const app = await limited({ policy: one });
    await app.register(
      async (scope) => {
        await scope.register(sluice, { headers: 'draft-6' });
        scope.get('/a', ok);
      },
      { prefix: '/api' },
    );

    expect(await statusesOf(app, '/api/a', '/api/a', '/nowhere')).toEqual([200, 429, 429]);
  });
});

describe('app.rateLimit()', () => {
  it('is a hook, which decides for itself after the limit of the plugin', async () => {
    const app = await limited({ policy: ten });
    app.get('/export', { onRequest: app.rateLimit({ policy: one }) }, ok);

    const all = await answersOf(app, '/export', '/export');

    expect(all.map(({ status }) => status)).toEqual([200, 429]);
    expect(all[0]?.headers['ratelimit']).toBe('"default";r=9;t=60, "GET.export";r=0;t=60');
  });

  it('may stand at any hook, and on several routes that share its budget', async () => {
    const app = await limited();
    const limit = app.rateLimit({ policy: two });
    app.get('/a', { preParsing: [limit] }, ok);
    app.get('/b', { preHandler: limit }, ok);

    expect(await statusesOf(app, '/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429]);
  });
});

describe('@RateLimit()', () => {
  it('limits a handler method after the limit of the plugin, and returns its reply for a denial', async () => {
    class Orders {
      @RateLimit({ policy: one })
      async list(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
        await Promise.resolve();
        return reply.code(201).send('listed');
      }
    }
    const app = await limited({ policy: ten });
    app.get('/', new Orders().list);

    const [first, second] = await answersOf(app, '/', '/');

    expect([first?.status, first?.body]).toEqual([201, 'listed']);
    expect(first?.headers['ratelimit']).toBe('"default";r=9;t=60, "Orders.list";r=0;t=60');
    expect(second?.status).toBe(429);
    expect(second?.headers['content-type']).toBe('application/problem+json');
  });
});

describe('the option hook', () => {
  const post = async (app: FastifyInstance, path: string, body: string) =>
    (await clientOf(app)).ask(`POST ${path}`, { headers: { 'content-type': 'application/json' }, body });

  it('lets a key be read of the body', async () => {
    const key = byUser((request: FastifyRequest) => (request.body as { user: string }).user);
    const app = await limited({ policy: one, hook: 'preHandler', key });
    app.post('/login', ok);
    const login = async (user: string) => (await post(app, '/login', JSON.stringify({ user }))).status;

    expect([await login('a'), await login('a'), await login('b')]).toEqual([200, 429, 200]);
  });

  it('moves one limit alone: another counts a body that cannot be parsed', async () => {
    const app = await limited();
    const late = { name: 'late', policy: ten, hook: 'preHandler' };
    app.post('/a', { ...at(late), onRequest: app.rateLimit({ name: 'early', policy: two }) }, ok);

    const all = [await post(app, '/a', '{'), await post(app, '/a', '{}'), await post(app, '/a', '{')];

    expect(all.map(({ status }) => status)).toEqual([400, 200, 429]);
    expect(all[1]?.headers['ratelimit']).toBe('"early";r=0;t=60, "late";r=9;t=60');
  });

  it.each(['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const)('may be %s', async (hook) => {
    const app = create();
    app.post('/early', at({ name: 'early', policy: one, hook }), ok);
    await app.register(sluice);
    app.post('/late', at({ name: 'late', policy: one, hook }), ok);

    const statuses = await statusesOf(app, 'POST /early', 'POST /early', 'POST /late', 'POST /late');

    expect(statuses).toEqual([200, 429, 200, 429]);
  });
});

describe('a mistake', () => {
  it.each<[string, (app: FastifyInstance) => unknown]>([
    [
      'config.rateLimit of POST /orders/:id has no option "max" (got 5); did you mean',
      (app) => app.post('/orders/:id', at({ max: 5 }), ok),
    ],
    ['config.rateLimit of GET /a: limit must be', (app) => app.get('/a', at({ limit: 0.5, window: '1m' }), ok)],
    ['config.rateLimit of GET /a: hook must be', (app) => app.get('/a', at({ policy: one, hook: 'onSend' }), ok)],
    ['config.rateLimit of GET /a takes an object', (app) => app.get('/a', at('five'), ok)],
    ['config.rateLimit of GET /a takes an object', (app) => app.get('/a', at(null), ok)],
    [
      'config.rateLimit of GET /a: this store already has',
      (app) => app.get('/a', at({ policy: one, name: 'API' }), ok),
    ],
    ['app.rateLimit() has no option "max"', (app) => app.rateLimit({ max: 5 } as never)],
    ['app.rateLimit() has no option "hook"', (app) => app.rateLimit({ policy: one, hook: 'preHandler' } as never)],
    ['app.rateLimit(): this store already has', (app) => app.rateLimit({ policy: one, name: 'api' })],
    [
      'app.register(sluice) under /api has no option "stor"',
      (app) => app.register(async (scope) => scope.register(sluice, { stor: 5 } as never), { prefix: '/api' }),
    ],
    [
      'config.rateLimit of a scope under /api has no option "polcy"',
      (app) => app.register(async () => undefined, { prefix: '/api', config: { rateLimit: { polcy: 5 } as never } }),
    ],
    ['the plugin is registered twice in one scope', (app) => app.register(sluice, { policy: two })],
  ])('fails the start, and the error names the place: %s', async (message, make) => {
    const app = await limited({ policy: ten, name: 'api' });
    void make(app);

    const start = app.ready();

    await expect(start).rejects.toThrow(message);
    await expect(start).rejects.toThrow(/^[^[]* \[SLUICE_\w+\]$/);
  });

  it('of a route that is declared before the plugin is an error at its requests', async () => {
    const app = create();
    app.get('/early', at({ policy: one, max: 1 }), ok);
    await app.register(sluice, { policy: ten });

    const [answer] = await answersOf(app, '/early');

    expect(answer?.status).toBe(500);
    expect(answer?.body).toContain('SLUICE_OPTION_UNKNOWN');
  });
});
