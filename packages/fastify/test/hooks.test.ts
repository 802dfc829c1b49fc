import { afterEach, describe, expect, it } from '@jest/globals';
import sluice, { byHeader, byUser } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import { answersOf, counting, one, ten, two } from './requests.ts';

let app: FastifyInstance;

afterEach(() => app.close());

const create = () => (app = Fastify());
const answers = async (...requests: string[]): Promise<Response[]> => answersOf(app, requests);
const statuses = async (...requests: string[]): Promise<number[]> =>
  (await answersOf(app, requests)).map(({ status }) => status);

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
    await app.register(sluice, {});
    const rateLimit = { name: 'late', policy: ten, hook: 'preHandler' } as const;
    app.post('/a', { config: { rateLimit }, onRequest: app.rateLimit({ name: 'early', policy: two }) }, () => 'ok');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as { port: number };
    const send = async (body: string) => {
      const headers = { 'content-type': 'application/json' };
      return fetch(`http://127.0.0.1:${String(port)}/a`, { method: 'POST', headers, body });
    };

    const all = [await send('{'), await send('{}'), await send('{')];

    expect(all.map(({ status }) => status)).toEqual([400, 200, 429]);
    expect(all[1]?.headers.get('ratelimit')).toBe('"early";r=0;t=60, "late";r=9;t=60');
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
    expect(all[0]?.headers.get('ratelimit')).toBe('"default";r=9;t=60, "GET.export";r=0;t=60');
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
