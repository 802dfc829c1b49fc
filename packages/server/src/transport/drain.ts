import { Server } from 'node:net';

/** How long connections that are ended may take to be gone. */
const LAST_MS = 1_000;

/**
 * Accepts no more connections, and waits until all have ended.
 *
 * @param end - Ends those that are left after `drainMs`.
 */
export async function drainServer(server: Server, drainMs: number, end: () => void): Promise<void> {
  let timers: readonly NodeJS.Timeout[] = [];
  const late = new Promise<void>((resolve) => {
    timers = [setTimeout(end, drainMs), setTimeout(resolve, drainMs + LAST_MS)];
  });
  const closed = new Promise<void>((resolve) => {
    // Those of HTTP and HTTP/2 would end connections that a request is on its way over.
    Server.prototype.close.call(server, () => {
      resolve();
    });
  });
  await Promise.race([closed, late]);
  for (const timer of timers) clearTimeout(timer);
}
