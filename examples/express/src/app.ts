import { byIp, byUser, fixedWindow, rateLimit, slidingWindow, type Store } from '@sluice/express';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { accountOf, logIn, userOf, type User } from './accounts.ts';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express types its request through this namespace
  namespace Express {
    interface Request {
      user?: User;
    }
  }
}

// Named, so that each plan has its own state: a user who changes plans starts with a new one.
const plans = {
  free: fixedWindow({ limit: 10, window: '1m', name: 'free' }),
  paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
};

/** The service, with its limits kept in a store. */
export function createApp(store: Store): Express {
  // When Redis does not decide within this time, this process decides in its memory.
  const common = { store, timeoutMs: 1000 };
  const app = express();
  app.disable('x-powered-by');
  // The address of the proxy: X-Forwarded-For is trusted from it alone. Never `true`.
  app.set('trust proxy', '127.0.0.1');

  // Before everything: it also applies to paths without a route, and before the authentication.
  app.use(rateLimit({ ...common, name: 'service', policy: slidingWindow({ limit: 60, window: '1m' }) }));

  app.get('/', (request, response) => {
    response.json({ address: request.ip, left: request.rateLimit?.decision.remaining });
  });

  // An expensive route.
  const report = rateLimit({ ...common, name: 'report', policy: fixedWindow({ limit: 3, window: '1h' }) });
  app.get('/report', report, (_request, response) => {
    response.json({ rows: Array.from({ length: 1000 }, (_, i) => i * i) });
  });

  // The tight limit affects only failures; the wide one stops guesses from many addresses. Decided together, and
  // behind the body parser, because their keys are in the body. Successful logins are refunded.
  const account = (request: Request): string => accountOf(request.body);
  const login = rateLimit({
    ...common,
    name: 'login',
    limits: [
      { name: 'login', policy: fixedWindow({ limit: 5, window: '1m' }), key: [byIp(), account], onMissingKey: 'deny' },
      { name: 'account', policy: fixedWindow({ limit: 20, window: '1h' }), key: account, onMissingKey: 'deny' },
    ],
    refund: 'on-success',
  });
  app.post('/login', express.json(), login, (request, response) => {
    const token = logIn(request.body);
    if (token === undefined) response.status(401).json({ error: 'wrong user or password' });
    else response.json({ token });
  });

  // By user, so behind the authentication; how much depends on the plan.
  const orders = rateLimit({
    ...common,
    name: 'orders',
    policy: ({ user }) => plans[user?.plan ?? 'free'],
    key: byUser(),
  });
  app.get('/orders', authenticate, orders, (request, response) => {
    response.json({ user: request.user?.id, orders: [] });
  });

  app.use((_request, response) => {
    response.status(404).json({ error: 'not found' });
  });
  return app;
}

const authenticate: RequestHandler = (request, response, next) => {
  const user = userOf(request.get('authorization'));
  if (user === undefined) {
    response.status(401).set('WWW-Authenticate', 'Bearer').json({ error: 'log in first' });
  } else {
    request.user = user;
    next();
  }
};
