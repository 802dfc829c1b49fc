import { describe, expect, it } from '@jest/globals';
import sluice, {
  byAll,
  byHeader,
  byRoute,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type SluiceOptions,
} from '@sluice/fastify';
import { exchange, spellingsOf, useWarnings } from '@sluice/testkit';
import type { FastifyServerOptions } from 'fastify';
import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { answersOf, clientOf, counting, create, limited, one, statusesOf, ten, two } from './requests.ts';

const warnings = useWarnings();
const FIELDS_OF_FIVE = [9, 8, 7, 6, 5].map((left) => `"default";r=${String(left)};t=60`);

describe('the limit of the plugin', () => {
  it('covers routes declared before it, after it, in scopes, and paths that nothing matches', async () => {
    const app = create();
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

    const all = await answersOf(app, '/before', '/early', '/sync', '/late', '/nowhere');

    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404]);
    expect(all.map(({ headers }) => headers['ratelimit'])).toEqual(FIELDS_OF_FIVE);
  });

  it('may be left out: then the limits of routes inherit what it says', async () => {
    const store = counting();
    const app = await limited({ store, key: byHeader('x-key'), onMissingKey: 'shared', headers: 'draft-6' });
    app.get('/free', () => 'free');
    app.get('/a', { config: { rateLimit: { policy: one } } }, () => 'a');

    const [free, first, second] = await answersOf(app, '/free', '/a', '/a');

    expect([free, first, second].map((answer) => answer?.status)).toEqual([200, 200, 429]);
    expect(free?.headers['ratelimit-limit']).toBeUndefined();
    expect(first?.headers['ratelimit-limit']).toBe('1');
    expect(store.calls).toBe(2);
  });

  it.each<[string, SluiceOptions['onDenied']]>([
    ['returns', () => ({ slow: 'down' })],
    ['promises', async () => Promise.resolve({ slow: 'down' })],
    ['sends itself', (_request, reply) => reply.send({ slow: 'down' })],
    [
      'pipes into the response',
      (_request, reply) => Readable.from([JSON.stringify({ slow: 'down' })]).pipe(reply.code(429).hijack().raw),
    ],
  ])('is answered with what onDenied %s', async (_what, onDenied) => {
    const app = await limited({ policy: one, onDenied });
    app.get('/a', () => 'a');

    const [, denied] = await answersOf(app, '/a', '/a');

    expect(JSON.parse(denied?.body ?? '')).toEqual({ slow: 'down' });
  });
});

describe('an application', () => {
  it('gives its names back when it closes, for the next one on its store', async () => {
    const store = memoryStore();
    const app = await limited({ policy: ten, store });
    app.get('/a', { config: { rateLimit: { policy: one } }, onRequest: app.rateLimit({ policy: two }) }, () => 'a');
    await app.ready();
    expect(() => createLimiter({ name: 'GET.a', policy: one, store })).toThrow('already has a limiter');

    await app.close();

    expect(['default', 'GET.a', 'GET.a_2'].map((name) => createLimiter({ name, policy: one, store }))).toHaveLength(3);
  });

  it('lets requests start that wait for their turn when it closes', async () => {
    const decisions = new EventEmitter();
    let count = 0;
    const app = await limited({
      policy: leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' }),
      key: byAll(),
      onDecision: () => decisions.emit(String(++count)),
    });
    app.get('/', () => 'hello');
    await clientOf(app);
    const decided = once(decisions, '3');
    const answers = Promise.all([statusesOf(app, '/'), statusesOf(app, '/'), statusesOf(app, '/')]);

    await decided;
    await app.close();

    expect(await answers).toEqual([[200], [200], [200]]);
  });
});

it.each([
  ['names proxies', '127.0.0.1', []],
  ['is false', false, []],
  ['is true', true, ['SLUICE_PROXY_TRUSTS_ALL']],
  ['is a number, which Fastify ignores', 1, []],
])('warns of trustProxy if it %s: %p', async (_what, trustProxy, codes: string[]) => {
  const app = create({ trustProxy } as FastifyServerOptions);
  await app.register(sluice, { limit: 5, window: '1m' });

  await answersOf(app, '/', '/');

  expect(warnings().map(({ code }) => code)).toEqual(codes);
});

const LIMIT = 3;
const PATHS = { '/login': '/login', '/shops/:shop/login': '/shops/1/login', '/files/*': '/files/a' };

describe('a limit per route, with a router that', () => {
  it.each<[string, object]>([
    ['ignores capitals', { caseSensitive: false }],
    ['ignores slashes', { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }],
    ['takes ; for the beginning of a query', { useSemicolonDelimiter: true }],
    [
      'ignores all of them',
      { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true },
    ],
  ])('%s: no spelling exceeds it', async (_what, routerOptions) => {
    const app = create({ routerOptions });
    await app.register(sluice, { name: 'spelt', policy: fixedWindow({ limit: LIMIT, window: '1h' }), key: byRoute() });
    const calls: string[] = [];
    for (const path of Object.keys(PATHS)) app.get(path, () => String(calls.push(path)));
    const { port } = await clientOf(app);

    for (const plain of Object.values(PATHS)) {
      for (const target of [...spellingsOf(plain), `${plain};/~`, `${plain};`, ...spellingsOf(plain)]) {
        await exchange(port, `GET ${target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
      }
    }

    expect(calls).toEqual(Object.keys(PATHS).flatMap((path) => Array.from({ length: LIMIT }, () => path)));
  });
});
