import { fixedWindow, rateLimit, type Store } from '@sluice/express';
import express, { type Express } from 'express';

/** An API with a limit for each address. */
export function createApp(store: Store): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(rateLimit({ name: 'api', policy: fixedWindow({ limit: 10, window: '1h' }), store }));
  app.get('/', (_request, response) => void response.send('hello\n'));
  return app;
}
