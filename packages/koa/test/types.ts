import type Router from '@koa/router';
import { RateLimit, byIp, byUser, fixedWindow, rateLimit, type RateLimitInfo } from '@sluice/koa';
import type Koa from 'koa';
import type { Context, Middleware, Next, ParameterizedContext } from 'koa';

// The compiler checks this file: it must compile, and what is marked must not. Options in general: those of Express.

/** As an application declares what its authentication leaves on the state. */
interface User {
  readonly id: string;
  readonly plan: 'free' | 'paid';
}
declare module 'koa' {
  interface DefaultState {
    account?: User;
  }
}

/** As another one gives its state a type of its own. */
interface OwnState {
  user: User;
}
type OwnContext = ParameterizedContext<OwnState>;

const policy = fixedWindow({ limit: 5, window: '1m' });
const plans = {
  free: fixedWindow({ name: 'free', limit: 5, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 50, window: '1m' }),
};

/** Never called: the compiler reads it. */
export function options(app: Koa, router: Router): void {
  app.use(rateLimit({ policy }));
  router.use('/api', rateLimit({ policy })).get('/users/:id', rateLimit({ policy }), (ctx) => {
    ctx.body = ctx.params['id'];
  });

  // Contexts are typed in every function, alone and in lists.
  rateLimit({ policy, key: [byIp(), byUser((ctx) => ctx.state.account?.id), (ctx) => ctx.get('x-tenant')] });
  rateLimit({
    limits: [{ name: 'per-user', policy, key: byUser((ctx) => ctx.state.account?.id), cost: (ctx) => ctx.path.length }],
    onDenied: (ctx, same, decision) => (ctx.body = { path: same.path, left: decision.remaining }),
  });
  // @ts-expect-error no such field of an account
  rateLimit({ policy, key: byUser((ctx) => ctx.state.account?.login) });
}

/** Never called: the compiler reads it. */
export function ownState(app: Koa<OwnState>, router: Router<OwnState>): void {
  app.use(rateLimit({ policy }));
  app.use(rateLimit({ policy, key: byUser((ctx: OwnContext) => ctx.state.user.id) }));
  app.use(rateLimit<OwnState>({ limits: [{ name: 'per-user', policy, key: byUser((ctx) => ctx.state.user.id) }] }));
  router.post('/', rateLimit({ policy: (ctx: OwnContext) => plans[ctx.state.user.plan] }), (ctx) => {
    const remaining: number | undefined = ctx.state.rateLimit?.decision.remaining;
    ctx.body = [ctx.state.user.id, remaining];
  });
  // @ts-expect-error no such field of the user
  rateLimit<OwnState>({ policy, key: (ctx) => ctx.state.user.login });
}

/** Never called: the compiler reads it. */
export async function results(ctx: Context): Promise<void> {
  const middleware: Middleware = rateLimit({ policy });
  const ofOwnState: Middleware<OwnState> = rateLimit({ policy });
  const several = rateLimit({ limits: [{ name: 'per-ip', policy }] });
  await several.limiter.reset(await several.keyFor(ctx));
  // @ts-expect-error a context that no limiter has seen has none
  const certain: RateLimitInfo = ctx.state.rateLimit;
  void [middleware, ofOwnState, certain];
}

/** Never called: the compiler reads it. */
export function methods(): unknown {
  class Orders {
    @RateLimit({ policy, key: byUser((ctx) => ctx.state.account?.id) })
    list(ctx: Context): void {
      ctx.body = ctx.state.rateLimit?.key;
    }

    @RateLimit<OwnState>({ policy: (ctx) => plans[ctx.state.user.plan] })
    static async find(ctx: OwnContext, next: Next): Promise<void> {
      await next();
      ctx.body = ctx.state.user.id;
    }
  }
  return Orders;
}
