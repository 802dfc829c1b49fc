import { createPolicies, managed } from '@sluice/core/managed';
import { byIp, memoryStore, rateLimit } from '@sluice/express';
import express from 'express';
import type { AddressInfo } from 'node:net';
import { openSource } from './open-source.ts';

const { HOST = '127.0.0.1', PORT = '3000' } = process.env;
const { source, close } = openSource(process.env);

const limit = rateLimit({
  policy: managed('orders'),
  app: 'shop',
  policies: createPolicies(source),
  store: memoryStore(), // or redisStore(...), if several processes count together
  key: byIp(),
  onStoreError: 'deny', // until the source has been read, no limit is known: requests get 503
});

const app = express();
app.get('/orders', limit, (_request, response) => {
  response.json({ orders: [] });
});
const server = app.listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limit of /orders in ${String(source.name)}. Try:
  node dist/change-limit.js 3 10s
  curl -si '${url}/orders?[1-4]'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void limit.limiter.close().then(() => close?.()));
  });
}
