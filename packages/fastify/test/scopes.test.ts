import { afterEach, describe, expect, it } from '@jest/globals';
import sluice, { byIp } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import { answersOf, one, ten, two } from './requests.ts';

let app: FastifyInstance;

afterEach(() => app.close());

const create = () => (app = Fastify());
const answers = async (...requests: string[]): Promise<Response[]> => answersOf(app, requests);
const statuses = async (...requests: string[]): Promise<number[]> =>
  (await answersOf(app, requests)).map(({ status }) => status);

describe('the limit of a scope', () => {
  it('replaces those around it, for its routes alone, as that of a route replaces it', async () => {
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

    const all = await answers('/api/a', '/api/a', '/api/b', '/api/b', '/api/b', '/free');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200, 429, 200]);
    expect(all[0]?.headers.get('ratelimit-policy')).toBe('"a";q=1;w=60');
    expect(all[2]?.headers.get('ratelimit-policy')).toMatch(/^"scope-[0-9a-f]{10}";q=2;w=60$/);
    expect(all[5]?.headers.get('ratelimit')).toBe('"default";r=9;t=60');
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
      config: { rateLimit: { name: 'alone', policy: two } },
    });

    const all = await answers('/limited/a', '/limited/a', '/free/a', '/alone/a');

    expect(all.map(({ status }) => status)).toEqual([200, 429, 200, 200]);
    expect(all[2]?.headers.get('ratelimit')).toBeNull();
    expect(all[3]?.headers.get('ratelimit-policy')).toBe('"alone";q=2;w=60');
  });

  it('is one limit where a plugin gives the config that it was registered with to its routes as well', async () => {
    create();
    await app.register(sluice, {});
    const proxyLike = (scope: FastifyInstance, { config }: { config?: object }, done: () => void) => {
      scope.get('/a', { config: { ...config } }, () => 'a');
      scope.get('/b', { config: { ...config } }, () => 'b');
      done();
    };
    await app.register(proxyLike, { prefix: '/api', config: { rateLimit: { name: 'orders', policy: two } } });

    const all = await answers('/api/a', '/api/b', '/api/a');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(all[0]?.headers.get('ratelimit')).toBe('"orders";r=1;t=60');
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

    expect(all[0]?.headers.get('ratelimit')).toBe('"inner";r=1;t=60');
    expect(all[1]?.headers.get('ratelimit')).toBe('"default";r=9;t=60');
  });

  it('stays in force inside a scope that only sets what its limits inherit', async () => {
    create();
    await app.register(sluice, { policy: one });
    await app.register(
      async (scope) => {
        await scope.register(sluice, { headers: 'draft-6' });
        scope.get('/a', () => 'a');
      },
      { prefix: '/api' },
    );

    expect(await statuses('/api/a', '/api/a', '/nowhere')).toEqual([200, 429, 429]);
  });

  it('is the only one of its scope: a second would replace it in silence', async () => {
    create();
    await app.register(sluice, { key: byIp() });
    await app.register(sluice, { policy: ten });
    void app.register(sluice, { name: 'second', policy: two });

    await expect(app.ready()).rejects.toMatchObject({
      code: 'SLUICE_OPTION_INVALID',
      message: expect.stringContaining('app.register(sluice) sets a second limit for one scope') as unknown,
    });
  });
});
