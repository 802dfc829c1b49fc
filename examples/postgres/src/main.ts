import type { AddressInfo } from 'node:net';
import { postgresStore } from '@sluice/core/postgres';
import { byIp, fixedWindow, rateLimit, slidingWindow } from '@sluice/express';
import express from 'express';
import { Pool } from 'pg';

const { HOST = '127.0.0.1', PORT = '3000', DATABASE_URL = 'postgres://localhost/postgres' } = process.env;

const pool = new Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 1000 });
const store = postgresStore(pool, { prefix: 'shop' });

const app = express();
app.use(
  rateLimit({
    limits: [
      { name: 'burst', policy: slidingWindow({ limit: 10, window: '10s' }), key: byIp() },
      { name: 'day', policy: fixedWindow({ limit: 1000, window: '1d' }), key: byIp() },
    ],
    store,
    timeoutMs: 1000, // a decision that takes longer is made in the memory of this process
  }),
);
app.get('/', (request, response) => {
  response.send(`decided by ${request.rateLimit?.decision.source ?? 'nothing'}\n`);
});

const server = app.listen(Number(PORT), HOST, (error) => {
  if (error !== undefined) throw error;
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}. Try, also on a second process:\n  curl -si '${url}/?[1-11]'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void pool.end());
    server.closeAllConnections();
  });
}
