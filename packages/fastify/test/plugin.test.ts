import { afterEach, describe, expect, it } from '@jest/globals';
import sluice, { byHeader, createLimiter, memoryStore } from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { answersOf, counting, one, ten, two } from './requests.ts';

let app: FastifyInstance;

afterEach(() => app.close());

const create = () => (app = Fastify());
const answers = async (...requests: string[]): Promise<Response[]> => answersOf(app, requests);

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

  it('reaches no handler behind a denial, and answers in its own format past an error handler', async () => {
    create();
    let calls = 0;
    await app.register(sluice, { policy: one });
    app.setErrorHandler((_error, _request, reply) => reply.code(500).send('mine'));
    app.get('/a', () => String(++calls));

    const [, denied] = await answers('/a', '/a');

    expect(calls).toBe(1);
    expect(denied?.status).toBe(429);
    expect(denied?.headers.get('content-type')).toBe('application/problem+json');
    expect(await denied?.json()).toMatchObject({ 'violated-policies': ['default'] });
  });

  it('goes through the error handler with throw: true', async () => {
    create();
    await app.register(sluice, { policy: one, throw: true });
    app.setErrorHandler((error: Error & { code?: string; statusCode?: number }, _request, reply) =>
      reply.code(error.statusCode ?? 500).send(`mine: ${error.code ?? ''}`),
    );
    app.get('/a', () => 'a');

    const [, denied] = await answers('/a', '/a');

    expect(denied?.status).toBe(429);
    expect(await denied?.text()).toBe('mine: SLUICE_DENIED');
    expect(denied?.headers.get('retry-after')).toBe('60');
    expect(denied?.headers.get('ratelimit')).toBe('"default";r=0;t=60');
  });

  it('is denied when the application gets ready, for an option that does not exist', async () => {
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

    const [, denied] = await answers('/a', '/a');

    expect(await denied?.json()).toEqual({ slow: 'down' });
  });
});
