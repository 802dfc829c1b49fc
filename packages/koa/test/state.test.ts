import { describe, expect, it } from '@jest/globals';
import Router from '@koa/router';
import { byUser, fixedWindow, rateLimit } from '@sluice/koa';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

const policy = fixedWindow({ limit: 2, window: '1h' });
const tellInfo: Middleware = (ctx) => {
  ctx.body = ctx.state.rateLimit;
};

describe.each(frameworks)('on $version', ({ Koa }) => {
  const serve = useServers();

  it.each([
    ['the id', { id: 7, sub: 'other' }, '7'],
    ['the subject of a token', { sub: 'auth|7' }, 'auth|7'],
  ])('byUser() reads %s from ctx.state.user', async (_what, user, key) => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      Object.assign(ctx.state, { user });
      await next();
    });
    app.use(rateLimit({ policy, key: byUser() }));
    app.use(tellInfo);
    const { ask } = await serve(app);

    const { text } = await ask();

    expect(JSON.parse(text)).toMatchObject({ key });
  });

  it.each([[undefined], [null], [{}], [{ id: null }]])('byUser() finds no user in %j', async (user) => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      Object.assign(ctx.state, { user });
      await next();
    });
    app.use(rateLimit({ policy, key: byUser() }));
    const { ask } = await serve(app);

    const { status } = await ask();

    expect(status).toBe(403);
  });

  it('a handler resets what its own middleware counts', async () => {
    const login = rateLimit({ policy });
    const router = new Router();
    router.post('/login', login, async (ctx) => {
      if (ctx.get('x-password') === 'right') await login.limiter.reset(await login.keyFor(ctx));
      ctx.body = 'done';
    });
    const app = new Koa();
    app.use(router.routes());
    const { ask } = await serve(app);
    const tryTo = async (password: string) =>
      (await ask('/login', { method: 'POST', headers: { 'X-Password': password } })).status;

    const statuses = [];
    for (const password of ['wrong', 'right', 'wrong', 'wrong', 'right']) statuses.push(await tryTo(password));

    expect(statuses).toEqual([200, 200, 200, 200, 429]);
  });

  it('a middleware that stands in two places counts a request once', async () => {
    const limiter = rateLimit({ policy });
    const router = new Router().get('/', limiter, tellInfo);
    const app = new Koa();
    app.use(limiter);
    app.use(router.routes());
    const { ask } = await serve(app);

    const statuses = [(await ask()).status, (await ask()).status, (await ask()).status];

    expect(statuses).toEqual([200, 200, 429]);
  });
});
