import { describe, expect, it } from '@jest/globals';
import { byAll, byUser, concurrency, fixedWindow, memoryStore, rateLimit } from '@sluice/web/hono';
import { fakeClock, until } from '@sluice/testkit';
import { Hono, type Context } from 'hono';
import { cors } from 'hono/cors';
import type { HTTPException } from 'hono/http-exception';

const policy = fixedWindow({ limit: 1, window: '1m' });

describe('the middleware of Hono', () => {
  it('provides the decision, typed, and adds fields to every kind of response', async () => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 9, window: '1m' }), key: byAll() });
    const app = new Hono();
    app.use(limit);
    app.get('/', (c) => c.text(String(c.var.rateLimit?.decision.remaining)));
    app.get('/moved', (c) => c.redirect('/'));
    app.get('/immutable', () => Response.redirect('http://test/', 302));
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.onError((_error, c) => c.text('sorry', 500));

    const answers = [];
    for (const path of ['/', '/moved', '/immutable', '/broken', '/nowhere']) answers.push(await app.request(path));

    expect(answers.map(({ status }) => status)).toEqual([200, 302, 302, 500, 404]);
    expect(await answers[0]?.text()).toBe('8');
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).toEqual([
      'r=8',
      'r=7',
      'r=6',
      'r=5',
      'r=4',
    ]);
    expect(answers[2]?.headers.get('location')).toBe('http://test/');
  });

  it('denies with the fields of middleware before it, such as those of CORS', async () => {
    const app = new Hono();
    app.use(cors({ origin: 'https://shop.example', exposeHeaders: ['X-Total'] }));
    app.use(rateLimit({ policy, key: byAll(), cors: true }));
    app.get('/', (c) => c.text('hello'));

    const asked = { headers: { Origin: 'https://shop.example' } };
    const answers = [await app.request('/', asked), await app.request('/', asked)];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
      expect(headers.get('access-control-expose-headers')).toBe('X-Total, RateLimit, RateLimit-Policy, Retry-After');
    }
  });

  it('answers with what onDenied returns', async () => {
    const app = new Hono();
    app.use(
      rateLimit({
        policy,
        key: byAll(),
        store: memoryStore({ clock: fakeClock() }),
        onDenied: (c) => c.json({ calm: true }, 420 as never),
      }),
    );
    app.get('/', (c) => c.text('hello'));
    await app.request('/');

    const denied = await app.request('/');

    expect([denied.status, await denied.json(), denied.headers.get('retry-after')]).toEqual([
      420,
      { calm: true },
      '60',
    ]);
  });

  it.each([
    ['the default error handler', undefined],
    ['one that makes a response by the context', (_error: Error, c: Context) => c.text('calm down', 429)],
    ['one that sends the response of the error', (error: Error) => (error as unknown as HTTPException).getResponse()],
  ])('throws an error whose fields %s sends once, inside of another limit too', async (_what, onError) => {
    const limit = (name: string, more: object = {}) =>
      rateLimit({ name, policy, key: byAll(), store: memoryStore({ clock: fakeClock() }), throw: true, ...more });
    const app = new Hono();
    if (onError !== undefined) app.onError(onError);
    app.get('/alone', limit('alone'), (c) => c.text('hello'));
    app.get('/inside', limit('outer', { policy: fixedWindow({ limit: 9, window: '1m' }) }), limit('inner'), (c) =>
      c.text('hello'),
    );

    const fields = [];
    for (const path of ['/alone', '/inside']) {
      await app.request(path);
      const { status, headers } = await app.request(path);
      fields.push([status, headers.get('ratelimit'), headers.get('retry-after')]);
    }

    expect(fields).toEqual([
      [429, '"alone";r=0;t=60', '60'],
      [429, '"outer";r=7;t=60, "inner";r=0;t=60', '60'],
    ]);
  });

  it('exposes the fields where any of several limits says so', async () => {
    const app = new Hono();
    app.use(cors());
    app.use(rateLimit({ name: 'outer', policy, key: byAll() }));
    app.get('/', rateLimit({ name: 'inner', policy, key: byAll(), cors: true }), (c) => c.text('hello'));

    const { headers } = await app.request('/', { headers: { Origin: 'https://shop.example' } });

    expect(headers.get('access-control-expose-headers')).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });

  it('says that onDenied has to return a response', async () => {
    const app = new Hono();
    app.use(rateLimit({ policy, key: byAll(), onDenied: (() => 'calm down') as never }));
    app.get('/', (c) => c.text('hello'));
    app.onError((error, c) => c.text(error.message, 500));
    await app.request('/');

    expect(await (await app.request('/')).text()).toBe(
      'onDenied must return a Response, or undefined for one without a body, got string',
    );
  });

  it('reads the user that was authenticated', async () => {
    const limit = rateLimit({ policy, key: byUser() });
    const app = new Hono<{ Variables: { user: { id: string } } }>();
    app.use(async (c, next) => {
      c.set('user', { id: c.req.header('x-user') ?? '' });
      await next();
    });
    app.get('/', limit, async (c) => c.text(await limit.keyFor(c)));

    expect(await (await app.request('/', { headers: { 'x-user': 'ann' } })).text()).toBe('ann');
  });

  it('holds a slot until the body has been read', async () => {
    const limit = rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });
    const app = new Hono().get('/', limit, (c) => c.text('hello'));

    const first = await app.request('/');
    const second = await app.request('/');
    await first.text();

    expect([first.status, second.status]).toEqual([200, 429]);
    await until('the slot is free', async () => (await limit.limiter.peek('*')).remaining === 1);
  });
});
