import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/**
 * Below the ports that systems choose themselves for connections and `listen(0)`: Linux from 32 768, others from 49
 * 152.
 */
const FIRST = 10_240;
const PARTS = 16;
const PORTS_OF_PART = 1408;

/** Processes side by side choose from different parts, but for one pair in sixteen. */
const firstOfPart = FIRST + (process.pid % PARTS) * PORTS_OF_PART;
let next = randomInt(PORTS_OF_PART);

/**
 * A port of the loopback where nothing listens, and another one with each call. The system gives it to no connection
 * and to no other server, also while its server is down, and a client that tries it meanwhile cannot reach itself, as
 * it can on a port that the system chooses.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_PART; tries++) {
    const port = firstOfPart + next;
    next = (next + 1) % PORTS_OF_PART;
    if (await isFree(port)) return port;
  }
  throw new Error(`all ports from ${String(firstOfPart)} are in use`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer((client: Socket) => client.destroy()).listen(port, '127.0.0.1');
  const isListening = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]).catch(() => false);
  if (!isListening) return false;
  server.close();
  await once(server, 'close');
  return true;
}
