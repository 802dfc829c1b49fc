import type { Server, Socket } from 'node:net';
import type { Service } from '../service.ts';
import { SocketServer } from '../transport/sockets.ts';
import { SentinelConnection } from './sentinel-connection.ts';
import { TokenService } from './token-service.ts';

/** Further connections are closed at once: each costs memory, and none has to say who it is. */
const MOST_CONNECTIONS = 10_000;

/** Sentinel's clients wait for 20 ms. */
const LONGEST_MS = 15;

/** A listener of Sentinel's cluster protocol. */
export interface SentinelServer {
  readonly server: Server;
  /** Accepts no more connections, and ends each once what it has asked is answered, at the latest after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

/**
 * Serves the token clients of Sentinel: PING, FLOW and PARAM_FLOW, with the rules of the configuration. The protocol
 * has neither secrets nor TLS: every client that reaches the listener can use units up.
 *
 * @param longestMs - How long a decision waits at most, where `timeoutMs` of the service is longer.
 */
export function serveSentinel(service: Service, longestMs: number = LONGEST_MS): SentinelServer {
  const tokens = new TokenService(service, Math.min(service.timeoutMs, longestMs));
  const open = new Set<SentinelConnection>();
  const serve = (socket: Socket): void => {
    if (open.size >= MOST_CONNECTIONS) {
      socket.destroy();
      return;
    }
    const connection = new SentinelConnection(socket, tokens, () => {
      open.delete(connection);
    });
    open.add(connection);
  };
  const sockets = new SocketServer(serve, undefined);
  return {
    server: sockets.server,
    close: async (drainMs) => {
      const closed = sockets.close(drainMs);
      for (const connection of open) connection.leave();
      await closed;
      await tokens.close();
    },
  };
}
