import { describe, expect, it } from '@jest/globals';
import type Router from '@koa/router';
import {
  RateLimit,
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  fixedWindow,
  memoryStore,
  rateLimit,
  redisStore,
  type Decision,
  type KeyValue,
  type RateLimitError,
  type RateLimitInfo,
  type RateLimitOptions,
} from '@sluice/koa';
import type { Redis } from 'ioredis';
import Koa, { type Context, type Middleware, type Next, type ParameterizedContext } from 'koa';

// What this file says is checked by the compiler: it must compile, and what is marked must not.

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

/** Keeps the compiler from asking what they are for. */
function unused(..._values: readonly unknown[]): void {}

/* eslint-disable @typescript-eslint/no-unsafe-return -- what must not compile has no type */
/** Never called: the compiler reads it. */
export function options(app: Koa, router: Router, client: Redis): void {
  app.use(rateLimit({ limit: 100, window: '1m' }));
  router.use(rateLimit({ limit: 100, window: 60_000 }));
  router.use('/api', rateLimit({ policy }));
  router.get('/', rateLimit({ policy }), (ctx) => {
    ctx.body = {};
  });
  router.get(
    '/users/:id',
    rateLimit({ policy, key: [byIp({ ipv6Prefix: 56 }), byRoute(), byMethod(), byHeader('x-key'), byAll()] }),
    (ctx) => {
      const id: string | undefined = ctx.params['id'];
      ctx.body = id;
    },
  );

  // Contexts are typed in every function, alone and in lists.
  rateLimit({ policy, key: byUser((ctx) => ctx.state.account?.id) });
  rateLimit({ policy, key: [byIp(), byUser((ctx) => ctx.state.account?.id)] });
  rateLimit({ policy, key: byUser(async (ctx) => Promise.resolve(ctx.state.account?.id)) });
  rateLimit({ policy, key: (ctx) => ctx.state.account?.id });
  rateLimit({ policy, key: [(ctx) => ctx.get('x-tenant'), async (ctx) => Promise.resolve(ctx.path), () => 5] });
  rateLimit({ policy: (ctx) => plans[ctx.state.account?.plan ?? 'free'] });
  rateLimit({ policy: async (ctx) => Promise.resolve(plans[ctx.state.account?.plan ?? 'free']) });
  rateLimit({ policy: (ctx) => [plans.free, plans[ctx.state.account?.plan ?? 'paid']] });
  rateLimit({ policy, cost: (ctx) => Number(ctx.get('content-length') || 1), skip: (ctx) => ctx.path === '/health' });
  rateLimit({
    limits: [
      { name: 'per-ip', policy, key: byIp() },
      {
        name: 'per-user',
        policy,
        key: byUser((ctx) => ctx.state.account?.id),
        cost: (ctx) => ctx.path.length,
        onMissingKey: 'skip',
      },
    ],
    cost: (ctx) => ctx.path.length,
  });
  rateLimit({
    policy,
    refund: (ctx, same) => ctx.status < 400 && same.status < 400,
    onDenied: (ctx, same, decision) => {
      const left: number = decision.remaining;
      ctx.body = { path: same.path, left };
    },
    onDecision: async (decision: Decision, { key, request: { ip } }) => {
      await Promise.resolve([decision.outcome, key, ip]);
    },
  });

  // Stores, modes and formats.
  rateLimit({ policy, store: memoryStore({ maxKeys: 10 }), onStoreError: 'deny', timeoutMs: 50 });
  rateLimit({
    policy,
    store: redisStore(client, { prefix: 'sluice' }),
    headers: ['draft-11', { legacy: 'epoch' }],
    throw: true,
    shared: true,
  });
  rateLimit({
    policy,
    store: redisStore('redis://127.0.0.1', { prefix: 'sluice' }),
    headers: false,
    mode: 'report',
    cors: true,
  });

  // What is no option, or is no value of one, does not compile.
  // @ts-expect-error windowMs is called window
  rateLimit({ limit: 5, windowMs: 60_000 });
  // @ts-expect-error max is called limit
  rateLimit({ max: 5, window: '1m' });
  // @ts-expect-error there must be a limit
  rateLimit({});
  // @ts-expect-error a limit needs a window
  rateLimit({ limit: 5 });
  // @ts-expect-error either policy, or limit and window
  rateLimit({ policy, limit: 5, window: '1m' });
  // @ts-expect-error either policy or limits
  rateLimit({ policy, limits: [{ name: 'a', policy }] });
  // @ts-expect-error limits have keys of their own
  rateLimit({ limits: [{ name: 'a', policy }], key: byIp() });
  // @ts-expect-error every one of several limits has a name
  rateLimit({ limits: [{ policy }] });
  // @ts-expect-error no such unit
  rateLimit({ limit: 5, window: '10 parsecs' });
  // @ts-expect-error no such mode
  rateLimit({ policy, onMissingKey: 'ignore' });
  // @ts-expect-error a part of a key is text or a number
  rateLimit({ policy, key: () => ({}) });
  // @ts-expect-error no such field of an account
  rateLimit({ policy, key: byUser((ctx) => ctx.state.account?.login) });
  // @ts-expect-error a policy function answers policies
  rateLimit({ policy: () => 5 });
  // @ts-expect-error a cost is a number
  rateLimit({ policy, cost: () => 'much' });
}

/** Never called: the compiler reads it. */
export function ownState(app: Koa<OwnState>, router: Router<OwnState>): void {
  app.use(rateLimit({ policy }));
  app.use(rateLimit<OwnState>({ policy, key: (ctx) => ctx.state.user.id }));
  app.use(rateLimit({ policy, key: byUser((ctx: OwnContext) => ctx.state.user.id) }));
  app.use(rateLimit<OwnState>({ policy, key: [byIp(), byUser((ctx) => ctx.state.user.id)] }));
  app.use(rateLimit<OwnState>({ limits: [{ name: 'per-user', policy, key: byUser((ctx) => ctx.state.user.id) }] }));
  router.post('/', rateLimit({ policy: (ctx: OwnContext) => plans[ctx.state.user.plan] }), (ctx) => {
    const remaining: number | undefined = ctx.state.rateLimit?.decision.remaining;
    ctx.body = [ctx.state.user.id, remaining];
  });
  // @ts-expect-error no such field of the user
  rateLimit<OwnState>({ policy, key: (ctx) => ctx.state.user.login });
  // @ts-expect-error no such field of the user
  rateLimit({ policy, key: (ctx: OwnContext) => ctx.state.user.login });
}
/* eslint-enable */

/** Never called: the compiler reads it. */
export async function results(ctx: Context): Promise<void> {
  const middleware: Middleware = rateLimit({ policy });
  const ofOwnState: Middleware<OwnState> = rateLimit({ policy });
  const info: RateLimitInfo | undefined = ctx.state.rateLimit;
  const remaining: number | undefined = ctx.state.rateLimit?.decision.remaining;
  const wait: number | null | undefined = ctx.state.rateLimit?.decision.retryAfterMs;
  const login = rateLimit({ policy });
  await login.limiter.reset(await login.keyFor(ctx));
  const several = rateLimit({ limits: [{ name: 'per-ip', policy }] });
  await several.limiter.reset(await several.keyFor(ctx));
  const error = (caught: RateLimitError): [number, Readonly<Record<string, string>>, Decision | undefined] => [
    caught.status,
    caught.headers,
    caught.decision,
  ];
  // @ts-expect-error a context that no limiter has seen has none
  const certain: RateLimitInfo = ctx.state.rateLimit;
  // @ts-expect-error a decision cannot be written to
  if (info !== undefined) info.decision.remaining = 5;
  unused(middleware, ofOwnState, remaining, wait, error, certain);
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

    // @ts-expect-error windowMs is called window
    @RateLimit({ limit: 5, windowMs: 5 })
    create(ctx: Context): void {
      ctx.body = '';
    }

    // @ts-expect-error it goes on methods
    @RateLimit({ policy })
    readonly field = 5;
  }
  return Orders;
}

describe('the types of @sluice/koa', () => {
  it('take what a program keeps in variables of their own', () => {
    const pick = (ctx: Context): KeyValue => ctx.state.account?.id;
    const kept: RateLimitOptions = { policy, key: [byIp(), byUser(pick)] };

    expect(() => new Koa().use(rateLimit(kept))).not.toThrow();
  });
});
