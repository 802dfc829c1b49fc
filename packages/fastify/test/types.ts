import sluice, {
  byIp,
  byUser,
  createLimiter,
  fixedWindow,
  memoryStore,
  type RateLimitInfo,
  type RouteLimitOptions,
} from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';

// What this file says is checked by the compiler: it must compile, and what is marked must not.

/** As an application declares what its authentication leaves on the request. */
declare module 'fastify' {
  interface FastifyRequest {
    account?: { readonly id: string };
  }
}

const policy = fixedWindow({ limit: 5, window: '1m' });

/** Never called. */
export async function registers(app: FastifyInstance): Promise<void> {
  await app.register(sluice, { store: memoryStore(), key: byUser((request) => request.account?.id) });
  await app.register(sluice, {
    policy: (request) => (request.account === undefined ? policy : [policy]),
    hook: 'preHandler',
  });
  await app.register(sluice, {
    prefix: '/ignored',
    limits: [{ name: 'user', policy, key: byUser((request) => request.account?.id), cost: ({ url }) => url.length }],
    onDecision: (decision, { key, request }) => [decision, key, request.ip],
    onDenied: (request, reply, decision) => reply.code(429).send({ path: request.url, left: decision.remaining }),
    refund: { when: (request, reply) => request.ip === '::1' && reply.statusCode < 400, onAbort: true },
  });
  await app.register(async () => undefined, { prefix: '/api', config: { rateLimit: { policy } } });
  await app.register(async () => undefined, { prefix: '/free', config: { rateLimit: false } });
  // @ts-expect-error there is no such option
  await app.register(sluice, { policy, windowMs: 5 });
  // @ts-expect-error there is no such hook
  await app.register(sluice, { policy, hook: 'onSend' });
}

/** Never called. */
export function declares(app: FastifyInstance): void {
  app.get('/a', { config: { rateLimit: { policy, key: byUser((request) => request.account?.id) } } }, () => '');
  const kept: RouteLimitOptions = { policy, key: [byIp(), byUser((request: FastifyRequest) => request.account?.id)] };
  app.get('/kept', { config: { rateLimit: kept } }, () => '');
  app.get('/b', { config: { rateLimit: false } }, (request): RateLimitInfo | undefined => request.rateLimit);

  const login = app.rateLimit({ policy });
  app.post<{ Body: { name: string } }>('/login', { onRequest: login, preHandler: [login] }, async (request) => {
    await login.limiter.reset(await login.keyFor(request));
    return request.body.name;
  });
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
