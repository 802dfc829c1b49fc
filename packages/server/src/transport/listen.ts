import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { Address } from './address.ts';

/**
 * Starts accepting connections.
 *
 * @returns The address with the port that the system chose, if port 0 was asked for.
 * @throws (rejects) the errors of the system, such as EADDRINUSE.
 */
export async function listenAt(server: Server, { host, port }: Address): Promise<Address> {
  server.listen({ host, port });
  await once(server, 'listening'); // rejects with an 'error' that comes first
  return { host, port: (server.address() as AddressInfo).port };
}
