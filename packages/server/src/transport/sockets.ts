import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import type { TlsSettings } from './certificates.ts';
import type { Connections } from './connections.ts';

const HANDSHAKE_MS = 10_000;

/** A server of plain connections, or of TLS. */
export class SocketServer {
  readonly server: Server;
  readonly #open = new Set<Socket>();

  /** @param serve - Gets each connection. */
  constructor(serve: (socket: Socket) => void, tls: TlsSettings | undefined, connections?: Connections) {
    const accept = (socket: Socket): void => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
      serve(socket);
    };
    this.server =
      tls === undefined
        ? createServer(accept)
        : createSecureServer({ ...tls, handshakeTimeout: HANDSHAKE_MS, rejectUnauthorized: tls.requestCert }, accept);
    connections?.follow(this.server, (socket) => {
      socket.destroy();
    });
  }

  /** Accepts no more connections, and resolves once all are closed. Those that are left after `drainMs` are ended. */
  async close(drainMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
    const timer = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, drainMs);
    await closed;
    clearTimeout(timer);
  }
}
