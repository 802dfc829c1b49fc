import { memoryStore, redisStore } from '@sluice/express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApi } from './api.ts';
import { startTraffic } from './clients.ts';
import { Decided, explain, summarize, tellProgress, type Run } from './summary.ts';

const { PORT = '', REDIS_URL = '', SECONDS = process.stdout.isTTY ? '' : '20' } = process.env;

// The reader of a pipe may close it early: `npm start | head`.
process.stdout.on('error', () => process.exit(0));

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopping.abort();
  });
}

const store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:live-traffic' });
const decided = new Decided();
const api = createApi(store, (decision) => {
  decided.record(decision);
});
const server = api.listen(Number(PORT), '127.0.0.1');
await once(server, 'listening');

const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
const redis = REDIS_URL === '' ? undefined : new URL(REDIS_URL).host; // without its password
const traffic = startTraffic(url);
const run: Run = { url, startedAtMs: performance.now(), redis, decided, kinds: traffic.kinds };

console.log(explain(run));
const showing = process.stdout.isTTY
  ? showInPlace()
  : setInterval(() => {
      console.log(tellProgress(run));
    }, 5000);
await sleep(SECONDS === '' ? 2 ** 31 - 1 : Number(SECONDS) * 1000, undefined, { signal: stopping.signal }).catch(
  () => undefined, // Ctrl-C
);
clearInterval(showing);
await traffic.stop();
server.close();
server.closeAllConnections();
await store.close?.();
if (process.stdout.isTTY) console.clear();
console.log(summarize(run));

function showInPlace(): NodeJS.Timeout {
  return setInterval(() => {
    console.clear();
    console.log(`${summarize(run)}\n\n${explain(run)}`);
  }, 500);
}
