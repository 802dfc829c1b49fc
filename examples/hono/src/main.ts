import { serve } from '@hono/node-server';
import { fromNode, memoryStore, redisStore, type Store } from '@sluice/web/hono';
import { createApp } from './app.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;
const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-hono' });

const { fetch } = createApp(fromNode, store);
const server = serve({ fetch, hostname: HOST, port: Number(PORT) }, ({ port }) => {
  const url = `http://${HOST}:${String(port)}`;
  console.log(`Listening on ${url}: 60 requests a minute for every address, and three failed logins. Try, four times:
  curl -si -X POST ${url}/login -H 'X-Password: guess'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => server.close(() => void store.close?.()));
