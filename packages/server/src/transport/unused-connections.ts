import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const connections = new WeakMap<Server, Set<Socket>>();

/**
 * Records the connections of a server, so that those over which nothing has come can be ended: clients open some in
 * advance.
 */
export function trackConnections(server: Server, event: 'connection' | 'secureConnection'): void {
  const sockets = new Set<Socket>();
  connections.set(server, sockets);
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
    });
  });
}

/** Ends the connections over which nothing has come. Node takes them for busy. */
export function endUnused(server: Server): void {
  for (const socket of connections.get(server) ?? []) {
    if (socket.bytesRead === 0) socket.destroySoon();
  }
}
