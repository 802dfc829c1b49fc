import { createLimiter, memoryStore } from '@sluice/express';
import { createPolicies, managed } from '@sluice/core/managed';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { APP, LIMIT, messageOf, openDatabase } from './settings.ts';

const { HOST = '127.0.0.1', PORT = '3000' } = process.env;

const database = openDatabase(process.env);
const policies = createPolicies(database.source);
const limiter = createLimiter({
  policy: managed(LIMIT),
  app: APP,
  policies,
  store: memoryStore(), // where requests are counted: redisStore(...), if several processes count together
  onStoreError: 'deny', // before the table has been read no limit is known: requests are denied
});

const server = createApp(limiter).listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limit of /orders in the database. Try:
  node examples/postgres-policies/dist/change-limit.js 3 10s
  curl -si '${url}/orders?[1-4]'`);
});

// The service runs anyway, and follows the table when it can be read.
policies.get(LIMIT).catch((error: unknown) => {
  console.error(`The limit is not read yet, and until it is, requests get 503: ${messageOf(error)}`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Answers pending requests, then closes what is open. With nothing left to do, the process ends. */
async function stop(): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
  await limiter.close();
  await database.close();
}
