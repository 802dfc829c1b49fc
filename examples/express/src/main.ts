import { memoryStore, redisStore, type Store } from '@sluice/express';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-express' });

const server = createApp(store).listen(Number(PORT), HOST, (error) => {
  if (error !== undefined) throw error;
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limits in ${REDIS_URL === '' ? 'memory' : 'Redis'}. Try:
  curl -si '${url}/report?[1-4]'
  curl -si '${url}/login?[1-6]' -H 'Content-Type: application/json' -d '{"user":"ann","password":"guess"}'`);
});

// Answers pending requests, and accepts no others. With nothing left to do, the process ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.log('Stopping.');
    server.close(() => void store.close?.());
  });
}
