import { memoryStore, redisStore, type Store } from '@sluice/core';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { fakeModel } from './model.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-llm-tokens' });

const server = createApp({ store, model: fakeModel, log: console.log }).listen(Number(PORT), HOST, (error) => {
  if (error !== undefined) throw error;
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  const ask = `curl -siN ${url}/answers -H 'Authorization: Bearer ann' -H 'Content-Type: application/json'`;
  console.log(`Listening on ${url}: 1000 tokens a minute for every user, counted in ${REDIS_URL === '' ? 'memory' : 'Redis'}. Try:
  ${ask} -d '{"prompt":"A poem in 40 words","max_tokens":400}'
and again, and stop it in the middle; or ask for two of them at once, and a third.`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

/** Ends the running answers, so that they are settled, and accepts no new requests. */
async function stop(): Promise<void> {
  console.log('Stopping.');
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await store.close?.();
}
