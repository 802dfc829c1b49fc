import { byUser, fixedWindow, rateLimit } from '@sluice/express';
import express, { type Express } from 'express';

const plans = {
  free: fixedWindow({ name: 'free', limit: 2, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 5, window: '1m' }),
};

export function createApp(): Express {
  const app = express();
  const orders = rateLimit({
    name: 'orders',
    policy: (request) => (request.get('x-plan') === 'paid' ? plans.paid : plans.free),
    key: byUser((request) => request.get('x-user')),
  });
  app.get('/orders', orders, (_request, response) => {
    response.json([]);
  });
  return app;
}
