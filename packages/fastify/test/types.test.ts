import { describe, expect, it } from '@jest/globals';
import sluice, {
  RateLimit,
  byIp,
  byRoute,
  byUser,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Decision,
  type RateLimitInfo,
  type RouteLimitOptions,
} from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

// What this file says is checked by the compiler: it must compile, and what is marked must not.

/** As an application declares what its authentication leaves on the request. */
interface User {
  readonly id: string;
  readonly plan: 'free' | 'paid';
}
declare module 'fastify' {
  interface FastifyRequest {
    account?: User;
  }
}

const policy = fixedWindow({ limit: 5, window: '1m' });
const plans = {
  free: fixedWindow({ name: 'free', limit: 5, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 500, window: '1m' }),
};

/** Never called. */
export async function registers(app: FastifyInstance): Promise<void> {
  await app.register(sluice, { limit: 100, window: '1m' });
  await app.register(sluice, { store: memoryStore(), key: byUser((request) => request.account?.id) });
  await app.register(sluice, { policy, key: [byIp(), byUser((request) => request.account?.id)], hook: 'preHandler' });
  await app.register(sluice, { policy: (request) => plans[request.account?.plan ?? 'free'] });
  await app.register(sluice, {
    prefix: '/ignored',
    limits: [
      { name: 'per-ip', policy, key: byIp() },
      {
        name: 'per-user',
        policy,
        key: byUser((request) => request.account?.id),
        cost: (request) => request.url.length,
      },
    ],
    onDecision: (decision: Decision, { key, request }) => [decision, key, request.ip],
    onDenied: (request, reply, decision) => reply.code(429).send({ path: request.url, left: decision.remaining }),
    refund: { when: (request, reply) => request.ip === '::1' && reply.statusCode < 400, onAbort: true },
  });
  await app.register(
    (_scope, _options, done) => {
      done();
    },
    { prefix: '/api', config: { rateLimit: { policy } } },
  );
  await app.register(
    (_scope, _options, done) => {
      done();
    },
    { prefix: '/api', config: { rateLimit: false } },
  );
  // @ts-expect-error there is no such option
  await app.register(sluice, { policy, windowMs: 5 });
  // @ts-expect-error there is no such hook
  await app.register(sluice, { policy, hook: 'onSend' });
}

/** Never called. */
export function routes(app: FastifyInstance): void {
  app.get('/a', { config: { rateLimit: { policy, key: byUser((request) => request.account?.id) } } }, () => '');
  app.get('/b', { config: { rateLimit: false } }, (request) => {
    const info: RateLimitInfo | undefined = request.rateLimit;
    return info?.decision.remaining;
  });
  app.get('/c', { config: { rateLimit: { policy, hook: 'preParsing', key: [byIp(), byRoute()] } } }, () => '');
  // @ts-expect-error five is no policy
  app.get('/d', { config: { rateLimit: { policy: 5 } } }, () => '');
  // @ts-expect-error there is no such hook
  app.get('/e', { config: { rateLimit: { policy, hook: 'onSend' } } }, () => '');

  const login = app.rateLimit({ policy });
  app.post<{ Body: { name: string } }>('/login', { onRequest: login, preHandler: [login] }, async (request) => {
    await login.limiter.reset(await login.keyFor(request));
    await login.limiter.block(request.body.name, '1h');
    return request.body.name;
  });
  const several = app.rateLimit({
    limits: [{ name: 'per-user', policy, key: byUser((request) => request.account?.id) }],
  });
  app.get('/f', { preParsing: several }, async (request) => {
    await several.limiter.reset(await several.keyFor(request));
    await several.limiter.peek({ 'per-user': 'a' });
    // @ts-expect-error a key per limit
    await several.limiter.peek('a');
  });
  app.rateLimit({ limiter: createLimiter({ policy }), key: byUser((request) => request.account?.id) });
  // @ts-expect-error the limiter has its store
  app.rateLimit({ limiter: createLimiter({ policy }), store: memoryStore() });
}

/** Never called. */
export function http2(): void {
  const app = Fastify({ http2: true });
  void app.register(sluice, { policy, key: byUser((request) => request.account?.id) });
  const limit = app.rateLimit({ policy });
  app.get('/a', { onRequest: limit, config: { rateLimit: { policy } } }, async (request) => limit.keyFor(request));
}

/** Never called. */
export function decorated(): object {
  class Orders {
    @RateLimit({ policy, key: byUser((request: FastifyRequest) => request.account?.id) })
    list(request: FastifyRequest, reply: FastifyReply): FastifyReply {
      return reply.send(request.rateLimit?.decision.remaining);
    }
  }
  return Orders;
}

describe('the types of @sluice/fastify', () => {
  it('take what a program keeps in variables of their own', async () => {
    const kept: RouteLimitOptions = { policy, key: [byIp(), byUser((request: FastifyRequest) => request.account?.id)] };
    const app = Fastify();
    await app.register(sluice, {});

    expect(() => app.get('/', { config: { rateLimit: kept } }, () => '')).not.toThrow();
  });
});
