import { byIp, fixedWindow, rateLimit, type Store } from '@sluice/express';
import express, { type Express, type Request } from 'express';

interface Login {
  readonly user?: unknown;
  readonly password?: unknown;
}

const accountOf = (request: Request): string => {
  const { user } = (request.body ?? {}) as Login;
  return typeof user === 'string' ? user.trim().toLowerCase() : '';
};

export function createApp(store: Store): Express {
  const app = express();
  app.set('trust proxy', '127.0.0.1');
  const limit = rateLimit({
    name: 'login',
    store,
    limits: [
      {
        name: 'pair',
        policy: fixedWindow({ limit: 3, window: '15m' }),
        key: [byIp(), accountOf],
        onMissingKey: 'deny',
      },
      { name: 'account', policy: fixedWindow({ limit: 10, window: '1h' }), key: accountOf, onMissingKey: 'deny' },
    ],
    refund: 'on-success',
  });
  app.post('/login', express.json(), limit, (request, response) => {
    response.sendStatus((request.body as Login).password === 'right' ? 200 : 401);
  });
  return app;
}
