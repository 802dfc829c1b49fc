import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const unused = new WeakMap<Server, Set<Socket>>();

/** Records the connections of a server over which no request has come: clients open some in advance. */
export function trackUnused(server: Server, event: 'connection' | 'secureConnection'): void {
  const sockets = new Set<Socket>();
  unused.set(server, sockets);
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
    });
  });
  server.on('request', ({ socket }) => {
    sockets.delete(socket);
  });
}

/** Ends those connections. Node takes them for busy. */
export function endUnused(server: Server): void {
  for (const socket of unused.get(server) ?? []) socket.destroySoon();
}
