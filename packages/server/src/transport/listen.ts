import { once } from 'node:events';
import { lstat, unlink } from 'node:fs/promises';
import { connect, type AddressInfo, type Server } from 'node:net';
import type { Address } from './address.ts';

/**
 * Starts to accept connections. A Unix socket that a process has left behind is replaced; one that accepts connections
 * is not.
 *
 * @returns The address with the port that the system chose, where port 0 was asked for.
 * @throws (rejects) the errors of the system, such as EADDRINUSE.
 */
export async function listenAt(server: Server, address: Address): Promise<Address> {
  if (address.kind === 'unix') {
    await removeStale(address.path);
    server.listen({ path: address.path });
    await listening(server);
    return address;
  }
  server.listen({ host: address.host, port: address.port });
  await listening(server);
  return { ...address, port: (server.address() as AddressInfo).port };
}

async function listening(server: Server): Promise<void> {
  await once(server, 'listening'); // rejects with an 'error' that comes first
}

async function removeStale(path: string): Promise<void> {
  const isSocket = await lstat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
  if (isSocket && !(await accepts(path))) await unlink(path);
}

async function accepts(path: string): Promise<boolean> {
  const socket = connect({ path });
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}
