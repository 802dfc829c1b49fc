import sluice, { byIp, byUser, fixedWindow, slidingWindow, type Store } from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { accountOf, logIn, userOf, type User } from './accounts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    user?: User;
  }
}

// Named, so that each plan has its own state: a user who changes plans starts with a new one.
const plans = {
  free: fixedWindow({ limit: 10, window: '1m', name: 'free' }),
  paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
};

/** The service, with its limits kept in a store. */
export async function createApp(store: Store): Promise<FastifyInstance> {
  // The address of the proxy: X-Forwarded-For is trusted from it alone. Never `true`, nor a number.
  const app = Fastify({ trustProxy: '127.0.0.1' });
  app.decorateRequest('user');

  // For all routes, and for paths without a route. The limits below inherit the store and the timeout: a
  // decision that Redis has not made by then is made in the memory of this process.
  await app.register(sluice, {
    store,
    timeoutMs: 1000,
    name: 'service',
    policy: slidingWindow({ limit: 60, window: '1m' }),
  });

  app.get('/', (request) => ({ address: request.ip, left: request.rateLimit?.decision.remaining }));

  // An expensive route: its limit replaces that of the service.
  const report = { name: 'report', policy: fixedWindow({ limit: 3, window: '1h' }) };
  app.get('/report', { config: { rateLimit: report } }, () => ({
    rows: Array.from({ length: 1000 }, (_, i) => i * i),
  }));

  // The tight limit affects only failures; the wide one stops guesses from many addresses. Decided together, in a hook
  // beside the limit of the service: `preHandler`, because their keys are in the body. Successful logins are refunded.
  const account = (request: FastifyRequest): string => accountOf(request.body);
  app.post(
    '/login',
    {
      preHandler: app.rateLimit({
        name: 'login',
        limits: [
          {
            name: 'login',
            policy: fixedWindow({ limit: 5, window: '1m' }),
            key: [byIp(), account],
            onMissingKey: 'deny',
          },
          { name: 'account', policy: fixedWindow({ limit: 20, window: '1h' }), key: account, onMissingKey: 'deny' },
        ],
        refund: 'on-success',
      }),
    },
    async (request, reply) => {
      const token = logIn(request.body);
      return token === undefined ? reply.code(401).send({ error: 'wrong user or password' }) : { token };
    },
  );

  // By user, so a hook of its own behind the authentication; how much depends on the plan.
  const orders = app.rateLimit({
    name: 'orders',
    policy: ({ user }) => plans[user?.plan ?? 'free'],
    key: byUser(),
  });
  app.get('/orders', { onRequest: [authenticate, orders] }, ({ user }) => ({ user: user?.id, orders: [] }));

  return app;
}

async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const user = userOf(request.headers.authorization);
  if (user === undefined) {
    return reply.code(401).header('WWW-Authenticate', 'Bearer').send({ error: 'log in first' });
  }
  request.user = user;
  return undefined;
}
