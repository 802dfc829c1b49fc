import { Client } from './client.ts';
import { ExampleProcess } from './example-process.ts';
import { startProxy } from './proxy.ts';

/** A running example, with a proxy in front of it. */
export interface ExampleBehindProxy {
  readonly process: ExampleProcess;
  /** Where the example itself listens. */
  readonly port: number;
  /** A client from an unused address. Without the proxy, all clients would have one address. */
  newClient(): Client;
  /** Ends everything that still runs. */
  close(): Promise<void>;
}

let clients = 0;

export async function startBehindProxy(
  main: URL,
  env: Readonly<Record<string, string>> = {},
): Promise<ExampleBehindProxy> {
  const process = new ExampleProcess(main, env);
  const port = await process.listens();
  const proxy = await startProxy(port);
  return {
    process,
    port,
    newClient: () => {
      clients++;
      return new Client(proxy.port, `127.1.${String(clients >> 7)}.${String(1 + (clients % 128))}`);
    },
    close: async () => {
      process.stop();
      await process.ends();
      await proxy.close();
    },
  };
}
