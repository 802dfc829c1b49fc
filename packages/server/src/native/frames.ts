import type { Socket } from 'node:net';
import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import { Connections } from '../transport/connections.ts';
import { FrameConnection } from './frames/frame-connection.ts';

/**
 * Serves the `remoteStore` of other processes: the listener of a `net.Server` or `tls.Server`. Each frame is a list of
 * operations on the service's store, which decides them as those of its own limiters. A client needs the token of the
 * service, except on a private entrance, and may then do everything: refund, charge, reset, block.
 */
export function serveFrames(
  service: Service,
  entrance: Entrance,
  connections: Connections = new Connections(),
): (socket: Socket) => void {
  return (socket) => {
    new FrameConnection(socket, service, entrance, () => {
      connections.served(socket);
    });
  };
}
