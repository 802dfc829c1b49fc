import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a Redis server, which ends as if the server did. */
export interface RedisRelay {
  /** The server's URL by this way. */
  readonly url: string;
  /** Closes all connections, and takes no more. */
  stop(): Promise<void>;
}

/** Passes connections on, from a free port of 127.0.0.1. */
export async function relayTo(url: string): Promise<RedisRelay> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const onward = connect(Number(port || 6379), hostname.replace(/^\[|\]$/g, ''));
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('error', () => undefined); // closing follows
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        onward.destroy();
      });
    }
    client.pipe(onward).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
