import { byHeader, fixedWindow, rateLimit } from '@sluice/express';
import express, { type Express } from 'express';

const free = fixedWindow({ name: 'free', limit: 2, window: '1m' });
const paid = fixedWindow({ name: 'paid', limit: 5, window: '1m' });

export function createApp(): Express {
  const app = express();
  const orders = rateLimit({
    name: 'orders',
    policy: (request) => (request.get('x-plan') === 'paid' ? paid : free),
    key: byHeader('x-user'),
  });
  app.get('/orders', orders, (_request, response) => {
    response.json([]);
  });
  return app;
}
