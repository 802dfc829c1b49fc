import type { Socket } from 'node:net';

/** The address that a Unix socket counts as: only processes of this machine reach it. */
const LOOPBACK = '127.0.0.1';

/** The address of the peer. Undefined once it has left. */
export function peerOf(socket: Socket): string | undefined {
  const { remoteAddress } = socket;
  if (remoteAddress !== undefined) return remoteAddress;
  // A connection over TCP keeps its own end when the peer has reset it.
  return socket.destroyed || socket.localAddress !== undefined ? undefined : LOOPBACK;
}
