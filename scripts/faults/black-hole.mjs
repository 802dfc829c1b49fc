import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * A TCP proxy that can lose its connections silently, like a firewall that has forgotten them or a machine that is
 * gone: they stay open, and nothing passes through them ever again.
 */
export async function startBlackHole(target) {
  const pairs = new Set();
  let swallowsNew = false;
  const swallow = ({ client, server }) => {
    for (const socket of [client, server]) socket.unpipe().pause();
  };
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ ...target, noDelay: true });
    const pair = { client, server };
    pairs.add(pair);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ]) {
      socket.on('error', () => undefined); // closing follows
      socket.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    if (swallowsNew) return;
    client.pipe(server);
    server.pipe(client);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  return {
    through(url) {
      const changed = new URL(url);
      changed.host = `127.0.0.1:${port}`;
      return changed.href;
    },
    /** Loses all connections, and every new one. */
    open() {
      swallowsNew = true;
      for (const pair of pairs) swallow(pair);
    },
    /** Lets new connections pass; lost ones stay lost. */
    close() {
      swallowsNew = false;
    },
    end() {
      listener.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
