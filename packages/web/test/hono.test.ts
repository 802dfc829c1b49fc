import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/core/testing';
import {
  byAll,
  byIp,
  byUser,
  fixedWindow,
  fromCloudflare,
  fromNode,
  fromProxy,
  memoryStore,
  rateLimit,
} from '@sluice/web/hono';
import { Hono, type Context } from 'hono';
import { cors } from 'hono/cors';
import type { HTTPException } from 'hono/http-exception';
import type { Fetch } from './fetch-app.ts';
import { serve } from './serve.ts';

/** A limit of this many, in a store whose time stands still. */
const limitOf = (limit: number, more: object = {}) =>
  rateLimit({
    policy: fixedWindow({ limit, window: '1m' }),
    key: byAll(),
    store: memoryStore({ clock: fakeClock() }),
    ...more,
  });
const origin = { headers: { Origin: 'https://shop.example' } };

describe('the option address', () => {
  it.each([
    ['a function of the context', (c: Context) => c.req.header('x-peer')],
    ['fromProxy of such a function', fromProxy(['10.0.0.0/8'], (c: Context) => c.req.header('x-peer'))],
    ['fromCloudflare', fromCloudflare],
    ['fromNode', fromNode],
  ])('may be %s', async (_what, address) => {
    const app = new Hono();
    app.get('/', limitOf(9, { key: byIp(), address }), (c) => c.text(String(c.var.rateLimit?.key)));
    const ip = '203.0.113.1';
    const headers = { 'X-Peer': ip, 'CF-Connecting-IP': ip };

    const answer = await app.request('/', { headers }, { incoming: { socket: { remoteAddress: ip } } });

    expect(await answer.text()).toBe(ip);
  });
});

describe('the middleware of Hono', () => {
  it('provides the decision, typed, and adds fields to every kind of response', async () => {
    const app = new Hono();
    app.use(limitOf(9));
    app.get('/', (c) => c.text(String(c.var.rateLimit?.decision.remaining)));
    app.get('/moved', (c) => c.redirect('/'));
    app.get('/immutable', () => Response.redirect('http://test/', 302));
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.onError((_error, c) => c.text('sorry', 500));

    const answers = [];
    for (const path of ['/', '/moved', '/immutable', '/broken', '/nowhere']) answers.push(await app.request(path));

    expect(await answers[0]?.text()).toBe('8');
    expect(answers.map(({ status, headers }) => [status, headers.get('ratelimit')?.split(';')[1]])).toEqual([
      [200, 'r=8'],
      [302, 'r=7'],
      [302, 'r=6'],
      [500, 'r=5'],
      [404, 'r=4'],
    ]);
    expect(answers[2]?.headers.get('location')).toBe('http://test/');
  });

  it('leaves responses as they are that an application returns for several requests', async () => {
    const app = new Hono();
    // Replaces Response by one that keeps the fields that it is given.
    const { close } = await serve(app.fetch as Fetch, { overrides: true });
    const constant = new Response(null, { status: 204 });
    app.get('/', limitOf(9), () => constant);

    const answers = [await app.request('/'), await app.request('/')];
    await close();

    expect(answers.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      '"default";r=8;t=60',
      '"default";r=7;t=60',
    ]);
  });

  it.each([
    ['its own denial', {}, 429],
    ['what onDenied makes by the context without a status', { onDenied: (c: Context) => c.json({}) }, 429],
    ['what onDenied makes without it and a status', { onDenied: () => new Response('calm') }, 429],
    ['what onDenied makes by the context', { onDenied: (c: Context) => c.text('calm', 420 as never) }, 420],
    ['what onDenied makes without it', { onDenied: () => new Response('calm', { status: 420 }) }, 420],
  ])('answers with %s, with the fields of middleware before it', async (_what, more, status) => {
    const app = new Hono();
    app.use(cors({ origin: 'https://shop.example', exposeHeaders: ['X-Total'] }));
    app.use(limitOf(1, { cors: true, ...more }));
    app.get('/', (c) => c.text('hello'));
    await app.request('/', origin);

    const denied = await app.request('/', origin);

    expect([denied.status, denied.headers.get('retry-after')]).toEqual([status, '60']);
    expect(denied.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(denied.headers.get('access-control-expose-headers')).toBe(
      'X-Total, RateLimit, RateLimit-Policy, Retry-After',
    );
  });

  it.each([
    ['the default error handler', undefined],
    ['one that makes a response by the context', (_error: Error, c: Context) => c.text('calm down', 429)],
    ['one that sends the response of the error', (error: Error) => (error as unknown as HTTPException).getResponse()],
  ])('throws an error whose fields %s sends once, inside of another limit too', async (_what, onError) => {
    const [alone, inner] = [limitOf(1, { name: 'alone', throw: true }), limitOf(1, { name: 'inner', throw: true })];
    const app = new Hono();
    if (onError !== undefined) app.onError(onError);
    app.get('/alone', alone, (c) => c.text('hello'));
    app.get('/inside', limitOf(9, { name: 'outer' }), inner, (c) => c.text('hello'));

    const fields = [];
    for (const path of ['/alone', '/alone', '/inside', '/inside']) {
      const { status, headers } = await app.request(path);
      fields.push([status, headers.get('ratelimit'), headers.get('retry-after')]);
    }

    expect(fields).toEqual([
      [200, '"alone";r=0;t=60', null],
      [429, '"alone";r=0;t=60', '60'],
      [200, '"outer";r=8;t=60, "inner";r=0;t=60', null],
      [429, '"outer";r=7;t=60, "inner";r=0;t=60', '60'],
    ]);
  });

  it('has a key after it has answered, and reads it from the payload of a token', async () => {
    const limit = limitOf(1, { key: byUser() });
    const app = new Hono<{ Variables: { jwtPayload: { sub: string } } }>();
    let key: unknown;
    app.use(async (c, next) => {
      c.set('jwtPayload', { sub: 'ann' });
      await next();
      key = await limit.keyFor(c);
    });
    app.get('/', limit, (c) => c.text('hello'));

    await app.request('/');

    expect(key).toBe('ann');
  });
});
