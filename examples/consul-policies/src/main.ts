import { createPolicies, managed } from '@sluice/core/managed';
import { byIp, memoryStore, rateLimit } from '@sluice/express';
import express from 'express';
import type { AddressInfo } from 'node:net';
import { consulSource } from './consul-source.ts';

const { HOST = '127.0.0.1', PORT = '3000', CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN } = process.env;

const limit = rateLimit({
  policy: managed('orders'),
  app: 'shop',
  policies: createPolicies(consulSource({ address: CONSUL_HTTP_ADDR, token: CONSUL_HTTP_TOKEN })),
  store: memoryStore(), // or redisStore(...), if several processes count together
  key: byIp(),
  onStoreError: 'deny', // until Consul has answered, no limit is known: requests get 503
});

const app = express();
app.get('/orders', limit, (_request, response) => {
  response.json({ orders: [] });
});
const server = app.listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limit of /orders in Consul. Try:
  node dist/change-limit.js 3 10s
  curl -si '${url}/orders?[1-4]'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void limit.limiter.close());
  });
}
