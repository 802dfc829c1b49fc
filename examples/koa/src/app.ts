import { bodyParser } from '@koa/bodyparser';
import Router from '@koa/router';
import { byIp, byUser, fixedWindow, rateLimit, slidingWindow, type Store } from '@sluice/koa';
import Koa, { type Context, type Middleware } from 'koa';
import { accountOf, logIn, userOf, type User } from './accounts.ts';

declare module 'koa' {
  interface DefaultState {
    user?: User;
  }
}

// Named, so that each plan has its own state: a user who changes plans starts with a new one.
const plans = {
  free: fixedWindow({ limit: 10, window: '1m', name: 'free' }),
  paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
};

/** The service, with its limits kept in a store. */
export function createApp(store: Store): Koa {
  // When Redis does not decide within this time, this process decides in its memory.
  const common = { store, timeoutMs: 1000 };
  // One proxy in front, which appends to X-Forwarded-For: the last address there counts. Koa trusts every peer, so
  // only the proxy may reach this service. Never `proxy` alone.
  const app = new Koa({ proxy: true, maxIpsCount: 1 });
  const router = new Router();

  // Before everything: it also applies to paths without a route, and before the authentication.
  app.use(rateLimit({ ...common, name: 'service', policy: slidingWindow({ limit: 60, window: '1m' }) }));
  app.use(router.routes());
  app.use((ctx) => {
    ctx.status = 404;
    ctx.body = { error: 'not found' };
  });

  router.get('/', (ctx) => {
    ctx.body = { address: ctx.ip, left: ctx.state.rateLimit?.decision.remaining };
  });

  // An expensive route.
  const report = rateLimit({ ...common, name: 'report', policy: fixedWindow({ limit: 3, window: '1h' }) });
  router.get('/report', report, (ctx) => {
    ctx.body = { rows: Array.from({ length: 1000 }, (_, i) => i * i) };
  });

  // The tight limit affects only failures; the wide one stops guesses from many addresses. Decided together, and
  // behind the body parser, because their keys are in the body. Successful logins are refunded.
  const account = (ctx: Context): string => accountOf(ctx.request.body);
  const login = rateLimit({
    ...common,
    name: 'login',
    limits: [
      { name: 'login', policy: fixedWindow({ limit: 5, window: '1m' }), key: [byIp(), account], onMissingKey: 'deny' },
      { name: 'account', policy: fixedWindow({ limit: 20, window: '1h' }), key: account, onMissingKey: 'deny' },
    ],
    refund: 'on-success',
  });
  router.post('/login', bodyParser(), login, (ctx) => {
    const token = logIn(ctx.request.body);
    ctx.status = token === undefined ? 401 : 200;
    ctx.body = token === undefined ? { error: 'wrong user or password' } : { token };
  });

  // By user, so behind the authentication; how much depends on the plan.
  const orders = rateLimit({
    ...common,
    name: 'orders',
    policy: ({ state }) => plans[state.user?.plan ?? 'free'],
    key: byUser(),
  });
  router.get('/orders', authenticate, orders, (ctx) => {
    ctx.body = { user: ctx.state.user?.id, orders: [] };
  });

  return app;
}

const authenticate: Middleware = async (ctx, next) => {
  const user = userOf(ctx.get('authorization'));
  if (user === undefined) {
    ctx.status = 401;
    ctx.set('WWW-Authenticate', 'Bearer');
    ctx.body = { error: 'log in first' };
  } else {
    ctx.state.user = user;
    await next();
  }
};
