import type { Server } from 'node:http';
import { endWithResponses } from './last-responses.ts';
import { endUnused } from './unused-connections.ts';

/** A client that has just opened a connection may be about to send. */
const UNUSED_MS = 500;

/**
 * Accepts no more connections, and resolves once every request that runs is answered. What is left after `drainMs` is ended.
 * Connections without a request end at once, those that never had one after half a second, and all others with their response.
 */
export async function closeHttp(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  endWithResponses(server);
  server.closeIdleConnections();
  const timers = [
    setTimeout(() => {
      endUnused(server);
    }, UNUSED_MS),
    setTimeout(() => {
      server.closeAllConnections();
    }, drainMs),
  ];
  await closed;
  for (const timer of timers) clearTimeout(timer);
}
