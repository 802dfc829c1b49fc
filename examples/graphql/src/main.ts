import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import { createApp } from './app.ts';

const { HOST = '127.0.0.1', PORT = '4000', REDIS_URL = '' } = process.env;
const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-graphql' });

const server = createServer((request, response) => void createdApp(request, response));
const createdApp = createApp(store);
server.listen(Number(PORT), HOST);
await once(server, 'listening');
const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
console.log(`Listening on ${url}: 1000 points of complexity for every client, and 100 more a second. Try, three times:
  curl -si ${url}/graphql -H 'content-type: application/json' -d '{"query":"{ orders(first: 40) { id items(first: 9) { name } } }"}'`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void store.close?.());
    server.closeAllConnections();
  });
}
