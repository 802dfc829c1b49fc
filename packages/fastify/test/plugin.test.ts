import { afterEach, describe, expect, it } from '@jest/globals';
import sluice, {
  byHeader,
  byIp,
  byRoute,
  byUser,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Store,
} from '@sluice/fastify';
import { Readable } from 'node:stream';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';

const one = fixedWindow({ limit: 1, window: '1m' });
const two = fixedWindow({ limit: 2, window: '1m' });
const ten = fixedWindow({ limit: 10, window: '1m' });

let app: FastifyInstance;

afterEach(() => app.close());

const create = (options: FastifyServerOptions = {}) => (app = Fastify(options));

/** Statuses of requests, one after the other, over real HTTP. */
async function statuses(...requests: string[]): Promise<number[]> {
  return (await answers(...requests)).map(({ status }) => status);
}

async function answers(...requests: string[]): Promise<Response[]> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const all: Response[] = [];
  for (const request of requests) {
    const [method = '', path = ''] = request.includes(' ') ? request.split(' ') : ['GET', request];
    all.push(await fetch(`http://127.0.0.1:${String(port)}${path}`, { method }));
  }
  return all;
}

/** A store that counts how often it is called. */
function counting(): Store & { calls: number } {
  const store = memoryStore();
  return {
    calls: 0,
    source: store.source,
    perform(requests) {
      this.calls++;
      return store.perform(requests);
    },
  };
}

describe('the limit of the plugin', () => {
  it('covers routes declared before it, after it, in scopes, and paths that nothing matches', async () => {
    create();
    app.get('/before', () => 'before');
    void app.register((scope, _options, done) => {
      scope.get('/early', () => 'early');
      done();
    });
    void app.register(sluice, { policy: ten });
    app.get('/sync', () => 'sync');
    void app.register((scope, _options, done) => {
      scope.get('/late', () => 'late');
      done();
    });

    const all = await answers('/before', '/early', '/sync', '/late', '/nowhere');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404]);
    expect(all.map(({ headers }) => headers.get('ratelimit'))).toEqual(
      [9, 8, 7, 6, 5].map((left) => `"default";r=${String(left)};t=60`),
    );
  });

  it('counts HEAD with GET, on the route that Fastify adds for it', async () => {
    create();
    await app.register(sluice, { policy: two, key: byRoute() });
    app.get('/a', () => 'a');

    expect(await statuses('GET /a', 'HEAD /a', 'HEAD /a', 'GET /a')).toEqual([200, 200, 429, 429]);
  });

  it('reaches no handler behind a refusal, and answers in its own format past an error handler', async () => {
    create();
    let calls = 0;
    await app.register(sluice, { policy: one });
    app.setErrorHandler((_error, _request, reply) => reply.code(500).send('mine'));
    app.get('/a', () => String(++calls));

    const [, refused] = await answers('/a', '/a');

    expect(calls).toBe(1);
    expect(refused?.status).toBe(429);
    expect(refused?.headers.get('content-type')).toBe('application/problem+json');
    expect(await refused?.json()).toMatchObject({ 'violated-policies': ['default'] });
  });

  it('goes through the error handler with throw: true', async () => {
    create();
    await app.register(sluice, { policy: one, throw: true });
    app.setErrorHandler((error: Error & { code?: string; statusCode?: number }, _request, reply) =>
      reply.code(error.statusCode ?? 500).send(`mine: ${error.code ?? ''}`),
    );
    app.get('/a', () => 'a');

    const [, refused] = await answers('/a', '/a');

    expect(refused?.status).toBe(429);
    expect(await refused?.text()).toBe('mine: SLUICE_DENIED');
    expect(refused?.headers.get('retry-after')).toBe('60');
    expect(refused?.headers.get('ratelimit')).toBe('"default";r=0;t=60');
  });

  it('is refused when the application gets ready, for an option that does not exist', async () => {
    create();
    void app.register(sluice, { policy: one, max: 3 } as never);

    await expect(app.ready()).rejects.toMatchObject({ code: 'SLUICE_OPTION_UNKNOWN', field: 'max' });
  });

  it('knows the plugin by name and version of Fastify', () => {
    create();
    expect((sluice as unknown as Record<symbol, unknown>)[Symbol.for('plugin-meta')]).toEqual({
      fastify: '5.x',
      name: '@sluice/fastify',
    });
  });

  it('may be left out, so that only routes have limits, which take over what it says', async () => {
    create();
    const store = counting();
    await app.register(sluice, { store, key: byHeader('x-key'), onMissingKey: 'shared', headers: 'draft-6' });
    app.get('/free', () => 'free');
    app.get('/a', { config: { rateLimit: { policy: one } } }, () => 'a');

    const [free, first, second] = await answers('/free', '/a', '/a');

    expect([free, first, second].map((answer) => answer?.status)).toEqual([200, 200, 429]);
    expect(free?.headers.get('ratelimit-limit')).toBeNull();
    expect(first?.headers.get('ratelimit-limit')).toBe('1');
    expect(store.calls).toBe(2);
  });
});

describe('the limit of a route', () => {
  it('is decided together with that of the plugin, in one call, and takes nothing where either refuses', async () => {
    create();
    const store = counting();
    await app.register(sluice, { policy: two, store });
    app.get('/report', { config: { rateLimit: { name: 'report', policy: one } } }, () => 'report');
    app.get('/other', () => 'other');

    const all = await answers('/report', '/report', '/other', '/other');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 429]);
    expect(all[0]?.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60, "report";q=1;w=60');
    expect(all[1]?.headers.get('ratelimit')).toBe('"default";r=1;t=60, "report";r=0;t=60');
    expect(store.calls).toBe(4);
  });

  it('stands alone with override: true', async () => {
    create();
    await app.register(sluice, { policy: one });
    app.get('/big', { config: { rateLimit: { name: 'big', policy: two, override: true } } }, () => 'big');

    const all = await answers('/big', '/big', '/big', '/nowhere');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 429, 404]);
    expect(all[0]?.headers.get('ratelimit-policy')).toBe('"big";q=2;w=60');
  });

  it('is none at all with false', async () => {
    create();
    await app.register(sluice, { policy: one });
    app.get('/health', { config: { rateLimit: false } }, () => 'ok');

    const all = await answers('/health', '/health', '/nowhere', '/health');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 404, 200]);
    expect(all[0]?.headers.get('ratelimit')).toBeNull();
  });

  it('has a name made of the route, the same in every process, and a budget of its own for each route', async () => {
    create();
    const limit = { policy: one };
    await app.register(sluice, {});
    app.get('/a/:id', { config: { rateLimit: limit } }, () => 'a');
    app.get('/b', { config: { rateLimit: limit } }, () => 'b');
    app.post('/b', { config: { rateLimit: limit } }, () => 'b');

    const all = await answers('/a/1', '/a/2', '/b', 'POST /b', 'HEAD /b');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200, 429]);
    expect(all[0]?.headers.get('ratelimit')).toBe('"route-fcce6460de";r=0;t=60');
  });

  it.each([
    ['before', {}],
    ['after', {}],
    ['before', { name: 'named' }],
    ['after', { name: 'named' }],
  ])('is one for GET and HEAD of a route with several methods, declared %s the plugin, %j', async (when, name) => {
    create();
    const declare = () => {
      app.route({
        method: ['GET', 'POST'],
        url: '/a',
        config: { rateLimit: { policy: two, ...name } },
        handler: () => 'a',
      });
    };
    if (when === 'before') declare();
    await app.register(sluice, {});
    if (when === 'after') declare();

    expect(await statuses('GET /a', 'HEAD /a', 'POST /a', 'GET /a')).toEqual([200, 200, 429, 429]);
  });

  it('is found on routes declared before the plugin', async () => {
    create();
    app.get('/early', { config: { rateLimit: { policy: one } } }, () => 'early');
    await app.register(sluice, { policy: ten });

    expect(await statuses('/early', '/early')).toEqual([200, 429]);
  });

  it('is refused when the application gets ready, where its options are wrong', async () => {
    create();
    await app.register(sluice, {});
    const declare = () => app.get('/a', { config: { rateLimit: { policy: one, hook: 'onSend' } as never } }, () => 'a');

    expect(declare).toThrow(expect.objectContaining({ field: 'hook' }));
  });

  it.each([true, 'five', 5, null])('is an object or false, and not %p', async (rateLimit) => {
    create();
    await app.register(sluice, {});
    const declare = () => app.get('/a', { config: { rateLimit: rateLimit as never } }, () => 'a');

    expect(declare).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field: 'rateLimit' }));
  });

  it('is refused when the application gets ready, where it has the name of the one around it', async () => {
    create();
    await app.register(sluice, { policy: ten, name: 'api' });
    app.get('/a', { config: { rateLimit: { policy: one, name: 'API' } } }, () => 'a');

    await expect(app.ready()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_NAME_TAKEN' });
  });

  it('is refused when the application gets ready, where it says another store', async () => {
    create();
    await app.register(sluice, { policy: ten });
    app.get('/a', { config: { rateLimit: { policy: one, store: memoryStore() } } }, () => 'a');

    await expect(app.ready()).rejects.toMatchObject({ field: 'store', message: expect.stringContaining('override') });
  });

  it('answers 500 for bad options on a route declared before the plugin', async () => {
    create();
    app.get('/early', { config: { rateLimit: { policy: one, max: 1 } as never } }, () => 'early');
    await app.register(sluice, { policy: ten });

    const [answer] = await answers('/early');

    expect(answer?.status).toBe(500);
    expect(await answer?.text()).toContain('SLUICE_OPTION_UNKNOWN');
  });
});

describe('a group of routes', () => {
  it('shares one budget', async () => {
    create();
    await app.register(sluice, {});
    for (const path of ['/a', '/b'])
      app.get(path, { config: { rateLimit: { group: 'search', policy: two } } }, () => '');

    const all = await answers('/a', '/b', '/a', '/b');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(all[0]?.headers.get('ratelimit-policy')).toBe('"search";q=2;w=60');
  });

  it('may cost more on one of them', async () => {
    create();
    await app.register(sluice, {});
    app.get('/a', { config: { rateLimit: { group: 'search', policy: ten } } }, () => '');
    app.get('/b', { config: { rateLimit: { group: 'search', policy: ten, cost: 9 } } }, () => '');

    expect(await statuses('/b', '/a', '/a')).toEqual([200, 200, 429]);
  });

  it('shares it whatever the key says of routes', async () => {
    create();
    await app.register(sluice, { key: [byIp(), byRoute()] });
    for (const path of ['/a', '/b'])
      app.get(path, { config: { rateLimit: { group: 'search', policy: one } } }, () => '');

    expect(await statuses('/a', '/b')).toEqual([200, 429]);
  });

  it('has one store', async () => {
    create();
    await app.register(sluice, {});
    app.get('/a', { config: { rateLimit: { group: 'search', policy: one } } }, () => '');
    app.get('/b', { config: { rateLimit: { group: 'search', policy: one, store: memoryStore() } } }, () => '');

    await expect(app.ready()).rejects.toMatchObject({ field: 'group', message: expect.stringContaining('store') });
  });

  it('says one limit', async () => {
    create();
    await app.register(sluice, {});
    app.get('/a', { config: { rateLimit: { group: 'search', policy: one } } }, () => '');
    app.get('/b', { config: { rateLimit: { group: 'search', policy: two } } }, () => '');

    await expect(app.ready()).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID', field: 'group' });
  });
});

describe('the limit of a scope', () => {
  it('adds to those around it, for its routes alone', async () => {
    create();
    await app.register(sluice, { policy: ten });
    await app.register(
      async (scope) => {
        await scope.register(sluice, { policy: two });
        scope.get('/a', { config: { rateLimit: { name: 'a', policy: one } } }, () => 'a');
        scope.get('/b', () => 'b');
      },
      { prefix: '/api' },
    );
    app.get('/free', () => 'free');

    const all = await answers('/api/a', '/api/a', '/api/b', '/api/b', '/free');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 429, 200]);
    expect(all[0]?.headers.get('ratelimit-policy')).toMatch(
      /^"default";q=10;w=60, "scope-[0-9a-f]{10}";q=2;w=60, "a";q=1;w=60$/,
    );
    expect(all[4]?.headers.get('ratelimit')).toBe('"default";r=7;t=60');
  });

  it('may stand in the config that the scope is registered with', async () => {
    create();
    await app.register(sluice, { policy: ten });
    const routes = (scope: FastifyInstance, _options: object, done: () => void) => {
      scope.get('/a', () => 'a');
      done();
    };
    await app.register(routes, { prefix: '/limited', config: { rateLimit: { policy: one } } });
    await app.register(routes, { prefix: '/free', config: { rateLimit: false } });
    await app.register(routes, {
      prefix: '/alone',
      config: { rateLimit: { name: 'alone', policy: two, override: true } },
    });

    const all = await answers('/limited/a', '/limited/a', '/free/a', '/alone/a');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200]);
    expect(all[2]?.headers.get('ratelimit')).toBeNull();
    expect(all[3]?.headers.get('ratelimit-policy')).toBe('"alone";q=2;w=60');
  });

  it('holds without one around it, and leaves what is outside alone', async () => {
    create();
    await app.register(
      async (scope) => {
        await scope.register(sluice, { policy: one });
        scope.get('/a', () => 'a');
      },
      { prefix: '/api' },
    );
    app.get('/free', () => 'free');

    expect(await statuses('/api/a', '/api/a', '/free', '/free')).toEqual([200, 429, 200, 200]);
  });

  it('is decided once where the outer one is registered after it', async () => {
    create();
    void app.register(
      async (scope) => {
        await scope.register(sluice, { name: 'inner', policy: two });
        scope.get('/a', () => 'a');
      },
      { prefix: '/api' },
    );
    void app.register(sluice, { policy: ten });

    const all = await answers('/api/a', '/nowhere');

    expect(all[0]?.headers.get('ratelimit')).toBe('"default";r=9;t=60, "inner";r=1;t=60');
    expect(all[1]?.headers.get('ratelimit')).toBe('"default";r=8;t=60');
  });
});

describe('the option hook', () => {
  it('lets a key be read of the body or the user', async () => {
    create();
    await app.register(sluice, {
      policy: one,
      hook: 'preHandler',
      key: byUser((request) => (request.body as { user: string }).user),
    });
    app.post('/login', () => 'ok');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const login = async (user: string) => {
      const body = JSON.stringify({ user });
      const headers = { 'content-type': 'application/json' };
      return (await fetch(`http://127.0.0.1:${String(port)}/login`, { method: 'POST', headers, body })).status;
    };

    expect([await login('a'), await login('a'), await login('b')]).toEqual([200, 429, 200]);
  });

  it('moves one limit, and leaves the others where they are: a body that cannot be read counts', async () => {
    create();
    await app.register(sluice, { policy: two });
    const rateLimit = { name: 'late', policy: ten, hook: 'preHandler' } as const;
    app.post('/a', { config: { rateLimit } }, () => 'ok');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const send = async (body: string) => {
      const headers = { 'content-type': 'application/json' };
      return fetch(`http://127.0.0.1:${String(port)}/a`, { method: 'POST', headers, body });
    };

    const all = [await send('{'), await send('{}'), await send('{')];

    expect(all.map(({ status }) => status)).toEqual([400, 200, 429]);
    expect(all[1]?.headers.get('ratelimit')).toBe('"default";r=0;t=60, "late";r=9;t=60');
  });

  it.each(['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const)('may be %s', async (hook) => {
    create();
    app.post('/early', { config: { rateLimit: { name: 'early', policy: one, hook } } }, () => 'ok');
    await app.register(sluice, {});
    app.post('/late', { config: { rateLimit: { name: 'late', policy: one, hook } } }, () => 'ok');

    expect(await statuses('POST /early', 'POST /early', 'POST /late', 'POST /late')).toEqual([200, 429, 200, 429]);
  });
});

describe('app.rateLimit()', () => {
  it('is a hook of a route, which decides for itself after the limit of the plugin', async () => {
    create();
    await app.register(sluice, { policy: ten });
    app.get('/export', { onRequest: app.rateLimit({ policy: one }) }, () => 'export');

    const all = await answers('/export', '/export');

    expect(all.map(({ status }) => status)).toEqual([200, 429]);
    expect(all[0]?.headers.get('ratelimit')).toMatch(/^"default";r=9;t=60, "route-[0-9a-f]{10}";r=0;t=60$/);
  });

  it('may stand at any hook, and on several routes that share its budget', async () => {
    create();
    await app.register(sluice, {});
    const limit = app.rateLimit({ policy: two });
    app.get('/a', { preParsing: [limit] }, () => 'a');
    app.get('/b', { preHandler: limit }, () => 'b');

    expect(await statuses('/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429]);
  });

  it('carries the limiter and the key, so that a handler can give all back', async () => {
    create();
    await app.register(sluice, {});
    const limit = app.rateLimit({ policy: one });
    app.post('/login', { onRequest: limit }, async (request) => {
      await limit.limiter.reset(await limit.keyFor(request));
      return 'welcome';
    });

    expect(await statuses('POST /login', 'POST /login', 'POST /login')).toEqual([200, 200, 200]);
  });

  it('takes over what the plugin says', async () => {
    create();
    const store = counting();
    await app.register(sluice, { store, key: byHeader('x-key'), onMissingKey: 'shared' });
    app.get('/a', { onRequest: app.rateLimit({ policy: one }) }, (request) => JSON.stringify(request.rateLimit?.key));

    const [answer] = await answers('/a');

    expect(await answer?.text()).toBe('""');
    expect(store.calls).toBe(1);
  });

  it('throws for bad options at once', async () => {
    create();
    await app.register(sluice, {});

    expect(() => app.rateLimit({ policy: one, max: 1 } as never)).toThrow(expect.objectContaining({ field: 'max' }));
  });
});

describe('limits beside each other', () => {
  it('may stand on one route without names: in its config, and in its hooks', async () => {
    create();
    await app.register(sluice, {});
    const hooks = [app.rateLimit({ policy: two }), app.rateLimit({ policy: ten })];
    app.get('/a', { onRequest: hooks, config: { rateLimit: { policy: ten } } }, () => 'a');
    for (const policy of [two, ten]) app.addHook('onRequest', app.rateLimit({ policy }));

    const all = await answers('/a', '/a', '/a');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 429]);
    const names = (all[0]?.headers.get('ratelimit-policy') ?? '').split(', ').map((item) => item.split(';')[0]);
    expect(new Set(names).size).toBe(5);
  });

  it('may stand on routes that differ in their constraints alone', async () => {
    create();
    await app.register(sluice, {});
    for (const version of ['1.0.0', '2.0.0']) {
      app.get('/a', { constraints: { version }, config: { rateLimit: { policy: one } } }, () => version);
    }
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const get = async (version: string) =>
      (await fetch(`http://127.0.0.1:${String(port)}/a`, { headers: { 'accept-version': version } })).status;

    expect([await get('1.0.0'), await get('2.0.0'), await get('1.0.0'), await get('2.0.0')]).toEqual([
      200, 200, 429, 429,
    ]);
  });

  it('fail the start where a hook has a name that is taken', async () => {
    create();
    await app.register(sluice, { name: 'api', policy: ten });
    app.get('/a', { onRequest: app.rateLimit({ name: 'api', policy: one }) }, () => 'a');

    await expect(app.ready()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_NAME_TAKEN' });
  });

  it('take no option that only limits inside others have', async () => {
    create();
    await app.register(sluice, {});

    expect(() => app.rateLimit({ policy: one, override: true } as never)).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_UNKNOWN' }),
    );
  });
});

describe('an application', () => {
  it('gives its names back when it closes, for the next one on its store', async () => {
    const store = memoryStore();
    for (let i = 0; i < 2; i++) {
      create();
      await app.register(sluice, { policy: ten, store });
      app.get('/a', { config: { rateLimit: { policy: one } }, onRequest: app.rateLimit({ policy: two }) }, () => 'a');
      await app.ready();
      await app.close();
    }

    expect(() => createLimiter({ policy: one, store })).not.toThrow();
  });

  it('may not have another decorator of that name: no limit is left out in silence', async () => {
    create();
    app.decorate('rateLimit', (() => () => {}) as never);
    void app.register(sluice, { policy: one });

    await expect(app.ready()).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' });
  });
});

describe('onDenied', () => {
  it.each<[string, object]>([
    ['what it answers', { onDenied: () => ({ slow: 'down' }) }],
    ['what it promises', { onDenied: async () => Promise.resolve({ slow: 'down' }) }],
    [
      'what it sends itself',
      { onDenied: (_request: FastifyRequest, reply: FastifyReply) => reply.send({ slow: 'down' }) },
    ],
    [
      'what it pipes into the response',
      {
        onDenied: (_request: FastifyRequest, reply: FastifyReply) =>
          Readable.from([JSON.stringify({ slow: 'down' })]).pipe(reply.code(429).hijack().raw),
      },
    ],
  ])('is answered with %s', async (_what, options) => {
    create();
    await app.register(sluice, { policy: one, ...options });
    app.get('/a', () => 'a');

    const [, refused] = await answers('/a', '/a');

    expect(await refused?.json()).toEqual({ slow: 'down' });
  });
});

describe('a client that leaves while the store is asked', () => {
  it('reaches no handler where it was made to wait', async () => {
    create();
    let calls = 0;
    await app.register(sluice, { policy: one, refund: { when: 'on-success', holdMs: 60_000 } });
    let finish = (): void => {};
    const first = new Promise<void>((resolve) => (finish = resolve));
    app.get('/a', async () => {
      calls++;
      await first;
      return 'a';
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const url = `http://127.0.0.1:${String(port)}/a`;

    const held = fetch(url);
    const leaving = new AbortController();
    const left = fetch(url, { signal: leaving.signal }).catch(() => 'left');
    await new Promise((resolve) => app.server.on('connection', resolve));
    leaving.abort();
    await left;
    finish();

    expect((await held).status).toBe(200);
    expect(await statuses('/a')).toEqual([200]);
    expect(calls).toBe(2);
  });
});
