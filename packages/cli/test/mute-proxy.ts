import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy that makes a server stop answering during a command. */
export interface MuteProxy {
  readonly port: number;
  close(): void;
}

/** Stops returning answers at the first client message with these words. Requests still reach the server. */
export async function startMuteProxy(target: { readonly port: number }, words: string): Promise<MuteProxy> {
  const sockets = new Set<Socket>();
  let isMute = false;
  const listener = createServer((client) => {
    const server = connect({ host: '127.0.0.1', port: target.port });
    client.on('data', (bytes) => {
      isMute ||= bytes.includes(words);
      server.write(bytes);
    });
    server.on('data', (bytes) => isMute || client.write(bytes));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
