import type { Server } from 'node:http';

/**
 * Accepts no more connections, and resolves once every request that runs is answered. What is left after `drainMs` is ended.
 * Connections without a request end at once.
 */
export async function closeHttp(server: Server, drainMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, drainMs);
  await closed;
  clearTimeout(timer);
}
