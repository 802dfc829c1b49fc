import { afterEach, describe, expect, it } from '@jest/globals';
import sluice from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import { answersOf, counting, one, ten, two } from './requests.ts';

let app: FastifyInstance;

afterEach(() => app.close());

const create = () => (app = Fastify());
const answers = async (...requests: string[]): Promise<Response[]> => answersOf(app, requests);
const statuses = async (...requests: string[]): Promise<number[]> =>
  (await answersOf(app, requests)).map(({ status }) => status);

describe('the limit of a route', () => {
  it('replaces that of the plugin, and takes nothing from it', async () => {
    create();
    const store = counting();
    await app.register(sluice, { policy: two, store });
    app.get('/report', { config: { rateLimit: { name: 'report', policy: one } } }, () => 'report');
    app.get('/other', () => 'other');

    const all = await answers('/report', '/report', '/other', '/other', '/other');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200, 429]);
    expect(all[0]?.headers.get('ratelimit-policy')).toBe('"report";q=1;w=60');
    expect(all[1]?.headers.get('ratelimit')).toBe('"report";r=0;t=60');
    expect(store.calls).toBe(5);
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
    expect(all[0]?.headers.get('ratelimit')).toBe('"GET.a._id";r=0;t=60');
  });

  it.each([
    ['/', /^GET\.$/],
    ['/items/:id/parts/:part', /^GET\.items\._id\.parts\._part$/],
    ['/items/_id', /^GET\.items\._id-[0-9a-f]{10}$/],
    ['/files/*', /^GET\.files\.-[0-9a-f]{10}$/],
    ['/v1.0/:id(^\\d+$)', /^GET\.v1\.0\._idd-[0-9a-f]{10}$/],
    ['/at/:hour(^\\d{2})h:minute', /^GET\.at\._hourd2hminute-[0-9a-f]{10}$/],
    [`/${'a'.repeat(60)}`, new RegExp(`^GET\\.${'a'.repeat(45)}-[0-9a-f]{10}$`)],
  ])('has a readable name that no other route has: %s', async (url, expected) => {
    create();
    await app.register(sluice, {});
    const names: unknown[] = [];
    app.get(url, { config: { rateLimit: { policy: one } } }, (request) => {
      names.push(request.rateLimit?.decision.policies[0]?.name);
      return '';
    });

    await answers(url.replaceAll(/:\w+(?:\([^)]*\))?/g, '11'));

    expect(names).toEqual([expect.stringMatching(expected)]);
  });

  it('has a number as the second of a place, which is the name of no other route', async () => {
    create();
    await app.register(sluice, {});
    const config = { rateLimit: { policy: two } };
    for (const url of ['/a-2', '/a/2', '/a/_2']) app.get(url, { config }, () => '');
    app.get('/a', { config, onRequest: app.rateLimit({ policy: ten }) }, () => '');

    const [first, second, third, both] = await answers('/a-2', '/a/2', '/a/_2', '/a');
    const policies = [first, second, third, both].map((answer) => answer?.headers.get('ratelimit-policy'));

    expect(policies).toEqual([
      '"GET.a-2";q=2;w=60',
      '"GET.a.2";q=2;w=60',
      expect.stringMatching(/^"GET\.a\._2-[0-9a-f]{10}";q=2;w=60$/),
      '"GET.a_2";q=2;w=60, "GET.a";q=10;w=60',
    ]);
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

  it('is denied when the application gets ready, where its options are wrong', async () => {
    create();
    await app.register(sluice, {});
    const declare = () => app.get('/a', { config: { rateLimit: { policy: one, hook: 'onSend' } as never } }, () => 'a');

    expect(declare).toThrow(expect.objectContaining({ field: 'hook' }));
  });

  it.each<[string, (app: FastifyInstance) => unknown, string]>([
    [
      'of a route',
      () => app.post('/orders/:id', { config: { rateLimit: { max: 5 } as never } }, () => 'a'),
      'config.rateLimit of POST /orders/:id has no option "max" (got 5); did you mean limit: 5?',
    ],
    [
      'of a route, of a wrong value',
      () => app.get('/orders', { config: { rateLimit: { limit: 0.5, window: '1m' } } }, () => 'a'),
      'config.rateLimit of GET /orders: limit must be',
    ],
    ['of a hook', () => app.rateLimit({ max: 5 } as never), 'app.rateLimit() has no option "max"'],
  ])('whose options are wrong: the error of those %s names the place', async (_where, declare, message) => {
    create();
    await app.register(sluice, {});

    expect(() => declare(app)).toThrow(message);
    expect(() => declare(app)).toThrow(/^[^[]* \[SLUICE_\w+\]$/); // its code once
  });

  it('whose options are wrong: the error of those of a scope names it', async () => {
    create();
    app.register(
      (scope, _options, done) => {
        scope.register(sluice, { max: 5 } as never);
        done();
      },
      { prefix: '/api' },
    );

    await expect(app.ready()).rejects.toThrow('app.register(sluice) under /api has no option "max"');
  });

  it.each([true, 'five', 5, null])('is an object or false, and not %p', async (rateLimit) => {
    create();
    await app.register(sluice, {});
    const declare = () => app.get('/a', { config: { rateLimit: rateLimit as never } }, () => 'a');

    expect(declare).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field: 'rateLimit' }));
  });

  it('is denied when the application gets ready, where it has the name of the one around it', async () => {
    create();
    await app.register(sluice, { policy: ten, name: 'api' });
    app.get('/a', { config: { rateLimit: { policy: one, name: 'API' } } }, () => 'a');

    await expect(app.ready()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_NAME_TAKEN' });
  });

  it('may be in another store', async () => {
    create();
    const [outer, inner] = [counting(), counting()];
    await app.register(sluice, { policy: ten, store: outer });
    app.get('/a', { config: { rateLimit: { policy: one, store: inner } } }, () => 'a');

    expect(await statuses('/a', '/a')).toEqual([200, 429]);
    expect([outer.calls, inner.calls]).toEqual([0, 2]);
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

  it('take no option hook in a hook, which decides where it stands', async () => {
    create();
    await app.register(sluice, {});

    expect(() => app.rateLimit({ policy: one, hook: 'preHandler' } as never)).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_UNKNOWN' }),
    );
  });
});
