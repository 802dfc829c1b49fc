import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A relay before a server: requests arrive, and responses can be dropped. */
export interface DeafRelay {
  readonly port: number;
  /** From now on drops responses on the open connections. */
  loseAnswers(): void;
  /** Resets those connections. New ones work normally. */
  cut(): void;
  close(): void;
}

export async function startDeafRelay(target: { readonly host: string; readonly port: number }): Promise<DeafRelay> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  const listener = createServer((client) => {
    const server = connect(target);
    pairs.add({ client, server });
    client.pipe(server).pipe(client);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined).on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const cut = (): void => {
    for (const { client } of pairs) client.resetAndDestroy();
    pairs.clear();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    loseAnswers() {
      for (const { client, server } of pairs) server.unpipe(client).resume();
    },
    cut,
    close() {
      listener.close();
      cut();
    },
  };
}
