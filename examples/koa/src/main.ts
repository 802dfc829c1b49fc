import { memoryStore, redisStore, type Store } from '@sluice/koa';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';

const LONGEST_STOP_MS = 10_000;

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-koa' });

const server = createApp(store).listen(Number(PORT), HOST, () => {
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limits in ${REDIS_URL === '' ? 'memory' : 'Redis'}. Try:
  curl -si '${url}/report?[1-4]'
  curl -si '${url}/login?[1-6]' -H 'Content-Type: application/json' -d '{"user":"ann","password":"guess"}'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Answers pending requests, and accepts no others. With nothing left to do, the process ends. */
async function stop(): Promise<void> {
  console.log('Stopping.');
  const closed = once(server, 'close');
  server.close();
  setTimeout(() => {
    server.closeAllConnections();
  }, LONGEST_STOP_MS).unref();
  await closed;
  await store.close?.();
}
