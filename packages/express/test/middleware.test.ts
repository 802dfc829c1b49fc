import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  RateLimitError,
  byHeader,
  byIp,
  createLimiter,
  fixedWindow,
  memoryStore,
  rateLimit,
  type RateLimitOptions,
} from '@sluice/express';
import { fakeClock } from '@sluice/core/testing';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 4, window: '1h' });
const once = fixedWindow({ limit: 1, window: '1h' });
const ok: RequestHandler = (_request, response) => {
  response.end();
};

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(frameworks)('on $version', ({ express }) => {
  /** An application with these middleware, a handler, and an error handler that hands over what it gets. */
  const serve = (...middleware: readonly RequestHandler[]) => {
    const errors: unknown[] = [];
    const app = express();
    for (const one of middleware) app.use(one);
    app.use(ok);
    const onError: ErrorRequestHandler = (error, _request, response, _next) => {
      errors.push(error);
      response.status(418).end();
    };
    return { app: app.use(onError), errors };
  };

  it.each<[string, readonly RequestHandler[], string]>([
    [
      'one middleware that is mounted several times counts a request once',
      mountedTwice(express),
      '"default";r=3;t=3600',
    ],
    ['two middleware of one limiter count it twice', twoOfOne(), '"default";r=3;t=3600, "default";r=2;t=3600'],
    [
      'two middleware with one name that share it count it twice',
      twoShared(),
      '"default";r=3;t=3600, "default";r=2;t=3600',
    ],
  ])('%s', async (_title, middleware, state) => {
    const answer = await request(serve(...middleware).app).get('/');

    expect(answer.headers['ratelimit']).toBe(state);
  });

  it('throw: true passes a denial to the error handler: status, code, header fields of all limiters, decision', async () => {
    const store = memoryStore({ clock: fakeClock() });
    const outer = rateLimit({ name: 'outer', policy, store });
    const { app, errors } = serve(outer, rateLimit({ name: 'inner', policy: once, throw: true, store }));
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.status).toBe(418);
    expect(answer.headers).toMatchObject({ 'retry-after': '3600', 'cache-control': 'no-store' });
    expect(errors).toEqual([expect.any(RateLimitError)]);
    expect(errors[0]).toMatchObject({
      ...{ code: 'SLUICE_DENIED', status: 429, statusCode: 429, expose: true, message: 'Too many requests' },
      headers: {
        'RateLimit-Policy': '"outer";q=4;w=3600, "inner";q=1;w=3600',
        RateLimit: '"outer";r=2;t=3600, "inner";r=0;t=3600',
        'Retry-After': '3600',
        'Cache-Control': 'no-store',
      },
      decision: { allowed: false, policy: 'inner' },
    });
  });

  it.each<[string, Partial<RateLimitOptions>]>([
    ['key', { key: fail }],
    ['a part of the key, later', { key: [failLater, byIp(), failLater] }],
    ['onDenied', { cost: 5, onDenied: fail }],
    ['onDenied, later', { cost: 5, onDenied: failLater }],
  ])('what a function throws reaches the error handler as it is: %s', async (_option, options) => {
    const { app, errors } = serve(rateLimit({ policy, ...options } as RateLimitOptions));

    const answer = await request(app).get('/');

    expect(answer.status).toBe(418);
    expect(errors).toEqual([new TypeError('of the user')]);
  });

  it('a login resets what its own middleware counts, for this client alone; without a key, keyFor rejects', async () => {
    const limit = rateLimit({
      policy: fixedWindow({ limit: 2, window: '1h' }),
      key: byHeader('x-account'),
      onMissingKey: 'skip',
    });
    const app = express().post('/login', limit, async (asked, response) => {
      const found = await limit.keyFor(asked).catch((error: unknown) => (error as { code: string }).code);
      if (asked.get('x-password') === 'good') await limit.limiter.reset(found);
      response.send(found);
    });
    const login = async (account: string, password: string) => {
      const { status, text } = await request(app).post('/login').set({ 'X-Account': account, 'X-Password': password });
      return status === 200 ? text : status;
    };

    const bob = [await login('bob', 'bad'), await login('bob', 'bad'), await login('bob', 'good')];
    const ann = [
      await login('ann', 'bad'),
      await login('ann', 'good'),
      await login('ann', 'bad'),
      await login('ann', 'bad'),
    ];

    expect([bob, ann]).toEqual([
      ['bob', 'bob', 429],
      ['ann', 'ann', 'ann', 'ann'],
    ]);
    expect([await login('ann', 'bad'), await login('', 'bad')]).toEqual([429, 'SLUICE_KEY_INVALID']);
  });
});

it('an application that trusts every proxy is warned of once, however many requests and limits it has', async () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});

  for (const { express } of frameworks) {
    const app = express().set('trust proxy', true).use(rateLimit({ policy }), rateLimit({ policy }), ok);
    for (let i = 0; i < 2; i++) await request(app).get('/');
  }

  expect(emitWarning.mock.calls).toEqual([
    [expect.stringContaining('X-Forwarded-For'), expect.objectContaining({ code: 'SLUICE_PROXY_TRUSTS_ALL' })],
  ]);
});

function fail(): never {
  throw new TypeError('of the user');
}
async function failLater(): Promise<never> {
  await new Promise(setImmediate);
  throw new TypeError('of the user');
}

function mountedTwice(express: (typeof frameworks)[number]['express']): readonly RequestHandler[] {
  const limit = rateLimit({ policy });
  return [limit, limit, express.Router().use(limit)];
}
function twoOfOne(): readonly RequestHandler[] {
  const limiter = createLimiter({ policy });
  return [rateLimit({ limiter }), rateLimit({ limiter })];
}
function twoShared(): readonly RequestHandler[] {
  const store = memoryStore();
  return [rateLimit({ policy, store, shared: true }), rateLimit({ policy, store, shared: true })];
}
