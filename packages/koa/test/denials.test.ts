import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit } from '@sluice/koa';
import { fakeClock } from '@sluice/testkit';
import type Koa from 'koa';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';
import { cors } from './untyped.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });
const PROBLEM = JSON.stringify({
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Quota Exceeded',
  status: 429,
  detail: 'The limit default is used up. Try again in 60 seconds.',
  'violated-policies': ['default'],
});

const greet: Middleware = (ctx) => {
  ctx.body = 'hello';
};

describe.each(frameworks)('a denial on $version', ({ Koa: Application }) => {
  const serve = useServers();
  /** A limiter ahead of a handler, and others ahead of it. */
  const appWith = (ahead: readonly Middleware[], options: object = {}): Koa => {
    const app = new Application();
    for (const middleware of ahead) app.use(middleware);
    app.use(rateLimit({ policy, store: memoryStore({ clock: fakeClock() }), ...options }));
    return app.use(greet);
  };

  it('is no error: the middleware around it reads the answer', async () => {
    const seen: unknown[] = [];
    const log: Middleware = async (ctx, next) => {
      await next();
      seen.push([ctx.status, ctx.body]);
    };
    const { ask } = await serve(appWith([log]));

    await ask();
    await ask();

    expect(seen).toEqual([
      [200, 'hello'],
      [429, PROBLEM],
    ]);
  });

  it('keeps cookies and the other header fields of the answer', async () => {
    const mark: Middleware = async (ctx, next) => {
      ctx.cookies.set('session', 'abc');
      ctx.set('X-Request-Id', '17');
      await next();
    };
    const { ask } = await serve(appWith([mark]));
    await ask();

    const { status, headers } = await ask();

    expect(status).toBe(429);
    expect(headers.get('set-cookie')).toContain('session=abc');
    expect(headers.get('x-request-id')).toBe('17');
    expect(headers.get('retry-after')).toBe('60');
  });

  it.each<[string, (ctx: Koa.Context) => void]>([
    ['a page', (ctx) => (ctx.body = '<p>Please wait.</p>')],
    ['a stream', (ctx) => (ctx.body = new PassThrough())],
    ['an object', (ctx) => (ctx.body = {})],
    ['no content', (ctx) => (ctx.status = 204)],
  ])('stands in the place of %s that was prepared before', async (_what, prepare) => {
    const { ask } = await serve(
      appWith([
        async (ctx, next) => {
          prepare(ctx);
          await next();
        },
      ]),
    );
    await ask();

    const { status, headers, text } = await ask();

    expect([status, text]).toEqual([429, PROBLEM]);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('content-length')).toBe(String(PROBLEM.length));
  });

  it('of a HEAD has the length of the body that it leaves out', async () => {
    const { ask } = await serve(appWith([]));
    await ask();

    const { status, headers, text } = await ask('/', { method: 'HEAD' });

    expect([status, text]).toEqual([429, '']);
    expect(headers.get('content-length')).toBe(String(PROBLEM.length));
  });

  it('is sent where Koa was told not to respond', async () => {
    const bypass: Middleware = async (ctx, next) => {
      ctx.respond = false;
      await next();
    };
    const app = new Application();
    app.use(bypass);
    app.use(rateLimit({ policy }));
    app.use((ctx) => {
      ctx.res.statusCode = 200;
      ctx.res.end('by hand');
    });
    const { ask } = await serve(app);

    const answers = [await ask(), await ask()];

    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [200, 'by hand'],
      [429, PROBLEM],
    ]);
    expect(answers[0]?.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(answers[1]?.headers.get('content-type')).toBe('application/problem+json');
  });

  it('exposes its fields to scripts of other origins, behind @koa/cors and with cors: true', async () => {
    const { ask } = await serve(appWith([cors({ exposeHeaders: 'X-Own' })], { cors: true }));
    const headers = { Origin: 'https://shop.example' };
    await ask('/', { headers });

    const denied = await ask('/', { headers });

    expect(denied.headers.get('access-control-expose-headers')).toBe('X-Own, RateLimit, RateLimit-Policy, Retry-After');
  });

  it('is what onDenied makes of it, with the context in both places', async () => {
    const onDenied = (ctx: Koa.Context, response: Koa.Context): void => {
      ctx.type = 'text/plain';
      ctx.body = `${String(response.status)}, says ${String(ctx === response)}`;
    };
    const { ask } = await serve(appWith([], { onDenied }));
    await ask();

    const { status, headers, text } = await ask();

    expect([status, text]).toEqual([429, '429, says true']);
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    expect(headers.get('retry-after')).toBe('60');
  });

  it('is the status with Koa’s own text where onDenied writes nothing', async () => {
    const { ask } = await serve(appWith([], { onDenied: () => undefined }));
    await ask();

    const { status, text } = await ask();

    expect([status, text]).toEqual([429, 'Too Many Requests']);
  });

  describe('with throw: true', () => {
    it('is answered by Koa’s error handler, with the fields', async () => {
      const { ask } = await serve(appWith([], { throw: true }));
      await ask();

      const { status, headers, text } = await ask();

      expect([status, text]).toEqual([429, 'Too many requests']);
      expect(Object.fromEntries(headers)).toMatchObject({
        'ratelimit-policy': '"default";q=1;w=60',
        ratelimit: '"default";r=0;t=60',
        'retry-after': '60',
        'cache-control': 'no-store',
      });
    });

    it('keeps the fields of a limiter that came before', async () => {
      const outer = rateLimit({ name: 'outer', policy: fixedWindow({ limit: 9, window: '60s' }) });
      const { ask } = await serve(appWith([outer], { name: 'inner', throw: true }));
      await ask();

      const { headers } = await ask();

      expect(headers.get('ratelimit-policy')).toBe('"outer";q=9;w=60, "inner";q=1;w=60');
      expect(headers.get('ratelimit')).toMatch(/^"outer";r=7;t=\d+, "inner";r=0;t=60$/);
    });

    it('can be caught by the middleware around it', async () => {
      const caught: unknown[] = [];
      const handler: Middleware = async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          caught.push(error);
          ctx.status = 418;
          ctx.body = ctx.state.rateLimit?.key;
        }
      };
      const { ask } = await serve(appWith([handler], { throw: true }));
      await ask();

      const { status, headers, text } = await ask();

      expect([status, text]).toEqual([418, '127.0.0.1']);
      expect(headers.get('retry-after')).toBe('60');
      expect(caught).toEqual([
        expect.objectContaining({ name: 'RateLimitError', code: 'SLUICE_DENIED', status: 429, statusCode: 429 }),
      ]);
    });

    it('is told to the application’s listener for errors', async () => {
      const told: unknown[] = [];
      const app = appWith([], { throw: true });
      app.on('error', (error: unknown) => told.push(error));
      const { ask } = await serve(app);
      await ask();

      await ask();

      expect(told).toEqual([expect.objectContaining({ code: 'SLUICE_DENIED' })]);
    });
  });
});
