import { createLimiter, memoryStore, redisStore } from '@sluice/express';
import { createPolicies, managed, type PolicySource } from '@sluice/core/managed';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { APP, LIMIT, messageOf, sourceOf } from './settings.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

let source: PolicySource;
try {
  source = sourceOf(process.env);
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}

// The policy is in Consul, independent of the store.
const policies = createPolicies(source);
const limiter = createLimiter({
  policy: managed(LIMIT),
  app: APP,
  policies,
  store: REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-consul' }),
  onStoreError: 'deny', // before the first answer of Consul no limit is known: requests are denied
});

const server = createApp(limiter).listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limit of /orders in Consul. Try:
  node examples/consul-policies/dist/change-limit.js 3 10s
  curl -si '${url}/orders?[1-4]'`);
});

// The service runs anyway, and follows Consul when it is back.
policies.get(LIMIT).catch((error: unknown) => {
  console.error(`The limit is not read from Consul yet, and until it is, requests get 503: ${messageOf(error)}`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Answers pending requests, then stops querying Consul. With nothing left to do, the process ends. */
async function stop(): Promise<void> {
  console.log('Stopping.');
  const closed = once(server, 'close');
  server.close();
  await closed;
  await limiter.close();
}
