import { memoryStore, redisStore, type Store } from '@sluice/fastify';
import { createApp } from './app.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;

const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-fastify' });

const app = await createApp(store);
app.addHook('onClose', async () => {
  await store.close?.();
});
const url = await app.listen({ port: Number(PORT), host: HOST });
console.log(`Listening on ${url}, with the limits in ${REDIS_URL === '' ? 'memory' : 'Redis'}. Try:
  curl -si '${url}/report?[1-4]'
  curl -si '${url}/login?[1-6]' -H 'Content-Type: application/json' -d '{"user":"ann","password":"guess"}'`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.log('Stopping.');
    void app.close(); // answers the requests that have come; with nothing left to do, the process ends
  });
}
