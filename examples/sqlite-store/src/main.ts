import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { openDatabase } from './open-database.ts';
import { sqliteStore } from './sqlite-store.ts';

const { HOST = '127.0.0.1', PORT = '3000', LIMITS_FILE = 'limits.db' } = process.env;

const database = await openDatabase(LIMITS_FILE);
const server = createApp(sqliteStore(database)).listen(Number(PORT), HOST, (error) => {
  if (error !== undefined) throw error;
  const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
  console.log(`Listening on ${url}, with the limits in ${LIMITS_FILE} by ${database.driver}. Try, also after a restart:
  curl -si '${url}/?[1-11]'`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

async function stop(): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  database.close();
}
