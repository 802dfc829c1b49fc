import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { gate, type Gate } from './gate.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A TCP proxy in front of a server, whose faults can be set while connections run through it. */
export class TcpProxy {
  readonly host = '127.0.0.1';
  readonly port: number;
  /** Bytes received from either side and not forwarded yet. */
  heldBytes = 0;
  readonly #pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  readonly #listener;
  #delayMs = 0;
  #hanging: Gate | undefined;

  constructor(port: number, target: Address) {
    this.port = port;
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const server = connect({ ...target, allowHalfOpen: true, noDelay: true });
      const pair = { client, server };
      this.#pairs.add(pair);
      this.#pass(client, server);
      this.#pass(server, client);
      server.on('close', () => this.#pairs.delete(pair));
    });
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** The same URL through the proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.host = `${this.host}:${String(this.port)}`;
    return changed.href;
  }

  /** From now on, delays every byte by this time, each way, in order. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Resets all connections (RST); accepts new ones. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      reset(client);
      reset(server);
    }
    this.#pairs.clear();
  }

  /** From now on, drops the server's answers on open connections. New ones work normally. */
  loseAnswers(): void {
    for (const { server } of this.#pairs) server.removeAllListeners('data').resume();
  }

  /** Rejects new connections. Open ones continue. */
  deny(): void {
    if (this.#listener.listening) this.#listener.close();
  }

  /** Forwards nothing in either direction, on new and old connections; keeps the data sent meanwhile. */
  hang(): void {
    this.#hanging ??= gate();
  }

  /** Ends delays and hanging (forwards the kept data), and accepts new connections. Cut connections stay cut. */
  async heal(): Promise<void> {
    this.#delayMs = 0;
    this.#hanging?.open();
    this.#hanging = undefined;
    if (this.#listener.listening) return;
    this.#listener.listen(this.port, this.host);
    await once(this.#listener, 'listening');
  }

  /** Ends it and all connections. */
  close(): void {
    this.deny();
    this.cut();
    this.#hanging?.open();
  }

  /** Forwards the data of one side, in order. */
  #pass(from: Socket, to: Socket): void {
    let last = Promise.resolve();
    const inTurn = (act: () => unknown): void => {
      const dueAt = performance.now() + this.#delayMs;
      last = last.then(async () => {
        await this.#hanging?.opened;
        const wait = dueAt - performance.now();
        if (wait > 0) await sleep(wait, undefined, { ref: false });
        act();
      });
    };
    from.on('data', (bytes) => {
      this.heldBytes += bytes.length;
      inTurn(() => {
        this.heldBytes -= bytes.length;
        if (to.writable) to.write(bytes);
      });
    });
    from.on('end', () => {
      inTurn(() => to.end());
    });
    from.on('error', () => undefined); // closing follows
    from.on('close', () => {
      inTurn(() => to.destroy());
    });
  }
}

/** Starts a proxy on a free port of the loopback. */
export async function startTcpProxy(target: Address): Promise<TcpProxy> {
  const proxy = new TcpProxy(await freePort(), target);
  await proxy.heal();
  return proxy;
}

/** Ends a connection at once. A reset fails after an end was sent, and Node then never frees the socket. */
function reset(socket: Socket): void {
  socket.removeAllListeners('end').removeAllListeners('close');
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
