import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SettingError } from '../settings.ts';

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/**
 * Serves on the loopback.
 *
 * @param port - 0: one that is free.
 * @throws (rejects) SettingError when the port is not available.
 */
export async function serve(listener: RequestListener, port: number): Promise<RunningServer> {
  const server = createServer(listener);
  server.keepAliveTimeout = 60_000; // the server must not close a connection that a client is about to use
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new SettingError(whyNot(port, error), { cause: error });
  }
  return {
    url: `http://${HOST}:${String((server.address() as AddressInfo).port)}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function whyNot(port: number, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const hint = 'give another PORT, or none for a free one';
  if (code === 'EADDRINUSE') return `PORT ${String(port)} of ${HOST} is in use; ${hint}`;
  if (code === 'EACCES') return `PORT ${String(port)} of ${HOST} may not be used without more rights; ${hint}`;
  return `Cannot listen on PORT ${String(port)} of ${HOST}: ${message}; ${hint}`;
}
