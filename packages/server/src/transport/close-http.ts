import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { endWithResponses } from './last-responses.ts';
import { endUnused } from './unused-connections.ts';

/** A client that has just opened a connection, or has just been answered over one, may be about to send. */
const UNUSED_MS = 500;

/**
 * Accepts no more connections, and resolves once every request that runs is answered. Requests that are left after
 * `drainMs` are ended. Connections end with their next response, those over which none is asked for after half a
 * second.
 */
export async function closeHttp(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    // That of HTTP would end idle connections at once.
    NetServer.prototype.close.call(server, () => {
      resolve();
    });
  });
  endWithResponses(server);
  const timers = [
    setTimeout(() => {
      server.closeIdleConnections();
      endUnused(server);
    }, UNUSED_MS),
    setTimeout(() => {
      server.closeAllConnections();
    }, drainMs),
  ];
  await closed;
  for (const timer of timers) clearTimeout(timer);
}
