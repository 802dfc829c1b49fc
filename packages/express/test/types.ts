import {
  RateLimit,
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  createLimiter,
  fixedWindow,
  rateLimit,
  type Decision,
  type KeyByLimit,
  type KeyValue,
  type RateLimitError,
  type RateLimitInfo,
  type RateLimitOptions,
} from '@sluice/express';
import type { Application, Request, RequestHandler, Response } from 'express';

// The compiler checks this file: it must compile, and what is marked must not.

/** As an application declares what its authentication leaves on the request. */
interface User {
  readonly id: string;
  readonly plan: 'free' | 'paid';
}
declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express types its request through this namespace
  namespace Express {
    interface Request {
      account?: User;
    }
  }
}

const policy = fixedWindow({ limit: 5, window: '1m' });
const plans = {
  free: fixedWindow({ name: 'free', limit: 5, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 50, window: '1m' }),
};
const minute = { limit: 5, window: '1m' } as const;
const perUser = byUser((req: Request) => req.account?.id);

/** Never called: the compiler reads it. */
export function options(app: Application): void {
  app.get(
    '/users/:id',
    rateLimit({ policy, key: [byIp({ ipv6Prefix: 56 }), byRoute(), byMethod(), byHeader('x-key'), byAll()] }),
    (req, response) => {
      const id: string = req.params.id;
      response.json(id);
    },
  );

  // Requests are typed in every function, alone and in lists.
  rateLimit({ policy, key: [byIp(), byUser((req) => req.account?.id), (req) => req.get('x-tenant'), () => 5] });
  rateLimit({ policy: async (req) => Promise.resolve(plans[req.account?.plan ?? 'free']) });
  rateLimit({
    limits: [
      { name: 'by-plan', policy: (req) => plans[req.account?.plan ?? 'free'], key: byIp() },
      { name: 'per-user', policy, key: perUser, cost: (req) => req.path.length, onMissingKey: 'skip' },
    ],
    cost: (req) => req.path.length,
  });
  rateLimit({
    policy,
    onDenied: (req, response, decision) => {
      const left: number = decision.remaining;
      response.status(429).json({ path: req.path, left });
    },
    onDecision: async (decision: Decision, { key, request: { ip } }) => {
      await Promise.resolve([decision.outcome, key, ip]);
    },
    refund: { when: (asked, response) => response.statusCode === 200 && asked.ip === 'a', onAbort: true },
  });
  const pick = (req: Request): KeyValue => req.account?.id;
  const kept: RateLimitOptions = { policy, key: [byIp(), byUser(pick)] };
  rateLimit(kept);
  rateLimit({ ...minute, key: (req) => req.account?.id });
  // @ts-expect-error windowMs is called window
  rateLimit({ limit: 5, windowMs: 60_000 });
  // @ts-expect-error either policy, or limit and window
  rateLimit({ policy, limit: 5, window: '1m' });
  // @ts-expect-error limits have keys of their own
  rateLimit({ limits: [{ name: 'a', policy }], key: byIp() });
  // @ts-expect-error every one of several limits has a name
  rateLimit({ limits: [{ policy }] });
  // @ts-expect-error a part of a key is text or a number
  rateLimit({ policy, key: () => ({}) });
  // @ts-expect-error no such field of a request
  rateLimit({ policy, key: byUser((req) => req.acount?.id) });
  // @ts-expect-error a policy function returns policies
  rateLimit({ policy: () => 5 });
}

/** Never called: the compiler reads it. */
export async function limiters(req: Request): Promise<void> {
  const several = rateLimit({ limits: [{ name: 'per-user', policy, key: perUser }] });
  await several.limiter.reset(await several.keyFor(req));
  // @ts-expect-error the store and the name are the limiter's
  rateLimit({ limiter: createLimiter({ policy }), name: 'other' });
  await several.keyFor<KeyByLimit>(req);
}

/** Never called: the compiler reads it. */
export function results(req: Request): void {
  const handler: RequestHandler = rateLimit({ policy });
  const info: RateLimitInfo | undefined = req.rateLimit;
  const wait: number | null | undefined = req.rateLimit?.decision.policies[0]?.retryAfterMs;
  const error = (caught: RateLimitError): [number, Decision | undefined] => [caught.status, caught.decision];
  // @ts-expect-error a request that no limiter has seen has none
  const certain: RateLimitInfo = req.rateLimit;
  void [handler, info, wait, error, certain];
}

/** Never called: the compiler reads it. */
export function methods(): unknown {
  class Orders {
    @RateLimit({ policy, key: byUser((req) => req.account?.id) })
    list(req: Request, response: Response): void {
      response.json(req.rateLimit?.key);
    }

    @RateLimit({ policy })
    static async find(req: Request<{ id: string }>, response: Response): Promise<void> {
      response.json(await Promise.resolve(req.params.id));
    }

    // @ts-expect-error windowMs is called window
    @RateLimit({ limit: 5, windowMs: 5 })
    create(_request: Request, response: Response): void {
      response.end();
    }

    // @ts-expect-error it goes on methods
    @RateLimit({ policy })
    readonly field = 5;
  }
  return Orders;
}
