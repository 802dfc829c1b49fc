import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { startCustomers } from './customers.ts';
import { createShop } from './shop.ts';

const { HOST = '127.0.0.1', PORT = '3000', TOKEN = randomBytes(12).toString('base64url') } = process.env;
const shop = await createShop(TOKEN);
const server = shop.app.listen(Number(PORT), HOST);
await once(server, 'listening');
const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
console.log(`Listening on ${url}: 20 orders in 10 seconds for every customer, and one of them asks for more.
The page of the operators: ${url}/limits/ (any name, and the password ${TOKEN})
As one of the customers: curl -si -H 'X-Customer: acme' ${url}/orders`);
const stopCustomers = startCustomers(url, console.log);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

async function stop(): Promise<void> {
  await stopCustomers();
  await shop.close();
  server.close();
  server.closeAllConnections();
}
