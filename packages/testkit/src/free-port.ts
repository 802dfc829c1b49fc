import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/**
 * Below the ports that systems choose themselves for connections and `listen(0)`: Linux from 32 768, others from 49
 * 152.
 */
const [FIRST, COUNT] = [10_240, 22_528];
/** Concurrent processes begin at different ones. */
let next = randomInt(COUNT);

/**
 * A loopback port where nothing listens, a different one with each call. The system assigns it to no connection and no
 * other server, even while its server is down, so a client that tries it meanwhile cannot connect to itself, as it
 * could on a port that the system chooses.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error('all ports are in use');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer((client: Socket) => client.destroy()).listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
