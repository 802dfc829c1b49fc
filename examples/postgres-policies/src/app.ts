import { byIp, rateLimit, type Limiter } from '@sluice/express';
import express, { type Express } from 'express';

/** A service with one limit, which the caller creates. */
export function createApp(limiter: Limiter): Express {
  const app = express();
  app.get('/orders', rateLimit({ limiter, key: byIp() }), (_request, response) => {
    response.json({ orders: [] });
  });
  return app;
}
