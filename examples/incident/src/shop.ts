import { byHeader, rateLimit, slidingWindow } from '@sluice/express';
import { createPolicies, managed } from '@sluice/managed';
import { page } from '@sluice/page';
import express, { type Express } from 'express';
import { policiesInMemory } from './policies-in-memory.ts';

export interface Shop {
  readonly app: Express;
  close(): Promise<void>;
}

/** An API whose limit by customer is a managed policy, and the page of its operators. */
export async function createShop(token: string): Promise<Shop> {
  const policies = createPolicies(policiesInMemory());
  await policies.put('orders', slidingWindow({ limit: 20, window: '10s' }), { apps: ['shop'] });

  const limits = page({ token, policies });
  const limit = rateLimit({
    name: 'orders',
    policy: managed('orders'),
    app: 'shop',
    policies,
    key: byHeader('x-customer'), // replace with the customer that your authentication has found
  });

  const app = express();
  app.use('/limits', limits); // before the limit, so that operators are not limited
  app.get('/orders', limit, (_request, response) => {
    response.json([]);
  });
  return {
    app,
    async close() {
      await limits.close();
      await limit.limiter.close();
      await policies.close();
    },
  };
}
