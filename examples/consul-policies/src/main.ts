import { createLimiter, createPolicies, managed, memoryStore, redisStore, type PolicySource } from '@sluice/express';
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

// The numbers are in Consul, wherever it is counted.
const policies = createPolicies(source);
const limiter = createLimiter({
  policy: managed(LIMIT),
  app: APP,
  policies,
  store: REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-consul' }),
  onStoreError: 'deny', // no limit is known before Consul has answered once: nothing gets by unlimited
});

const server = createApp(limiter).listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limit of /orders in Consul. Try:
  node examples/consul-policies/dist/esm/change-limit.js 3 10s
  curl -si '${url}/orders?[1-4]'`);
});

// It serves all the same, and follows Consul when it is there.
policies.get(LIMIT).catch((error: unknown) => {
  console.error(`Consul has not said what the limit is, and until it does requests get 503: ${messageOf(error)}`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Answers the requests that have come, then asks Consul nothing more. With nothing left to do, the process ends. */
async function stop(): Promise<void> {
  console.log('Stopping.');
  const closed = once(server, 'close');
  server.close();
  await closed;
  await limiter.close();
}
