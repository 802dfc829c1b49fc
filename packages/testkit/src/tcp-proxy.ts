import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

/** A TCP proxy before a server, whose faults are set while connections run through it. */
export interface TcpProxy {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** The same URL through the proxy. */
  through(url: string): string;
  /** How many connections are open. */
  readonly connections: number;
  /** Bytes that have arrived from either side and are not forwarded yet. */
  readonly heldBytes: number;
  /** Resets all connections (RST); accepts new ones. */
  cut(): void;
  /** From now on drops what the server answers on the open connections. New ones work normally. */
  loseAnswers(): void;
  /** Rejects new connections. Open ones continue. */
  deny(): void;
  /** Forwards nothing in either direction, on new and old connections; keeps the data sent meanwhile. */
  hang(): void;
  /**
   * Ends hanging (forwards the kept data), and accepts new connections. Cut ones stay so.
   */
  heal(): Promise<void>;
  /** Ends it and all connections. */
  close(): void;
}

/** Starts a proxy on a free port of the loopback. */
export async function startTcpProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let heldBytes = 0;
  let hanging: { readonly ended: Promise<void>; end(): void } | undefined;

  /** Forwards the data of one side, in order. */
  const pass = (from: Socket, to: Socket): void => {
    let last = Promise.resolve();
    const inTurn = (act: () => unknown): void => {
      last = last.then(async () => {
        await hanging?.ended;
        act();
      });
    };
    from.on('data', (bytes) => {
      heldBytes += bytes.length;
      inTurn(() => {
        heldBytes -= bytes.length;
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
  };

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    const pair = { client, server };
    pairs.add(pair);
    pass(client, server);
    pass(server, client);
    server.on('close', () => pairs.delete(pair));
  });
  const port = await freePort();
  listener.listen(port, '127.0.0.1');
  await once(listener, 'listening');

  const cut = (): void => {
    for (const { client, server } of pairs) {
      reset(client);
      reset(server);
    }
    pairs.clear();
  };
  const deny = (): void => {
    if (listener.listening) listener.close();
  };
  const goOn = (): void => {
    hanging?.end();
    hanging = undefined;
  };
  return {
    host: '127.0.0.1',
    port,
    through(url) {
      const changed = new URL(url);
      changed.host = `127.0.0.1:${String(port)}`;
      return changed.href;
    },
    get connections() {
      return pairs.size;
    },
    get heldBytes() {
      return heldBytes;
    },
    cut,
    loseAnswers() {
      for (const { server } of pairs) server.removeAllListeners('data').resume();
    },
    deny,
    hang() {
      if (hanging !== undefined) return;
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      hanging = { ended, end };
    },
    async heal() {
      goOn();
      if (listener.listening) return;
      listener.listen(port, '127.0.0.1');
      await once(listener, 'listening');
    },
    close() {
      deny();
      cut();
      goOn();
    },
  };
}

/** Ends a connection at once. A reset fails after an end was sent, and Node would then never free the socket. */
function reset(socket: Socket): void {
  socket.removeAllListeners('end').removeAllListeners('close');
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
