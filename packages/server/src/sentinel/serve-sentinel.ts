import { createServer, type Socket } from 'node:net';
import type { Service } from '../service.ts';
import type { Clients } from '../transport/clients.ts';
import { drainServer } from '../transport/drain.ts';
import type { Made } from '../transport/http.ts';
import { MessageReader, readMessage, TYPE, writePong, writeResult, type Message } from './codec.ts';
import { Tokens } from './tokens.ts';

/** How many values a connection may handle in one turn, before others get theirs. */
const VALUES_OF_TURN = 64;
/** With more requests in flight, or more bytes that its client has not read, a connection is paused. */
const MAX_IN_FLIGHT = 4_096;
const MAX_UNREAD_BYTES = 65_536;
/** A client that is silent this long is gone, as for Sentinel's server. */
const IDLE_MS = 600_000;
/** How long a client has to read the last of its responses. */
const LAST_MS = 1_000;

/**
 * Serves the token clients of Sentinel: PING, FLOW and PARAM_FLOW, with the rules of the configuration. The protocol
 * has neither secrets nor TLS: every client that reaches the listener can use up units.
 *
 * @param timeoutMs - How long a decision may wait.
 */
export function serveSentinel(service: Service, timeoutMs: number, clients: Clients): Made {
  const tokens = new Tokens(service, timeoutMs);
  const open = new Set<SentinelConnection>();
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = new SentinelConnection(socket, tokens);
    open.add(connection);
    socket.once('close', () => open.delete(connection));
  });
  clients.boundConnections(server);
  return {
    server,
    close: async (drainMs) => {
      for (const connection of open) connection.leave();
      await drainServer(server, drainMs, () => {
        for (const connection of open) connection.socket.destroy();
      });
      await tokens.clients.close();
    },
  };
}

/** One client connection. Whatever it sends is bounded, and delays no other connection. */
class SentinelConnection {
  readonly socket: Socket;
  readonly #tokens: Tokens;
  readonly #reader = new MessageReader();
  #inFlight = 0;
  #namespace: string | undefined;
  #isLeaving = false;

  constructor(socket: Socket, tokens: Tokens) {
    this.socket = socket;
    this.#tokens = tokens;
    socket.once('data', (chunk: Buffer) => {
      if (isFromBrowser(chunk)) socket.destroy();
    });
    socket.on('data', (chunk: Buffer) => {
      socket.pause();
      this.#reader.push(chunk);
      this.#work();
    });
    socket.on('drain', this.#work);
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      this.#join(undefined);
    });
    socket.setTimeout(IDLE_MS, () => {
      socket.destroy();
    });
  }

  /** Answers open requests, and ends. The client reconnects within two seconds. */
  leave(): void {
    this.#isLeaving = true;
    this.#endIfAnswered();
  }

  /** Serves what has arrived, then continues reading. */
  readonly #work = (): void => {
    const { socket } = this;
    socket.cork();
    let left = VALUES_OF_TURN;
    while (left > 0 && !this.#isLeaving && this.#hasRoom()) {
      const bytes = this.#reader.next();
      if (bytes === undefined) break;
      const message = readMessage(bytes);
      left -= Math.max(message?.values.length ?? 0, 1);
      if (message !== undefined) this.#serve(message);
    }
    process.nextTick(() => {
      socket.uncork();
    });
    if (left <= 0) setImmediate(this.#work);
    else if (!this.#isLeaving && this.#hasRoom()) socket.resume();
  };

  #hasRoom(): boolean {
    return this.#inFlight < MAX_IN_FLIGHT && this.socket.writableLength < MAX_UNREAD_BYTES && !this.socket.destroyed;
  }

  #serve(message: Message): void {
    const { xid, type } = message;
    if (type === TYPE.ping) {
      if (message.namespace !== undefined) this.#join(message.namespace);
      const { namespace } = message;
      this.#write(writePong(xid, namespace === undefined ? undefined : this.#tokens.clients.count(namespace)));
      return;
    }
    const result = this.#tokens.decide(message);
    if (!(result instanceof Promise)) {
      this.#write(writeResult(xid, type, result));
      return;
    }
    this.#inFlight++;
    void result.then((decided) => {
      this.#write(writeResult(xid, type, decided));
      const wasFull = this.#inFlight-- === MAX_IN_FLIGHT;
      if (this.#isLeaving) this.#endIfAnswered();
      else if (wasFull) this.#work();
    });
  }

  /** Counts the client in a namespace instead of the previous one. */
  #join(namespace: string | undefined): void {
    if (namespace === this.#namespace) return;
    if (this.#namespace !== undefined) this.#tokens.clients.add(this.#namespace, -1);
    if (namespace !== undefined) this.#tokens.clients.add(namespace, 1);
    this.#namespace = namespace;
  }

  #write(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  #endIfAnswered(): void {
    const { socket } = this;
    if (this.#inFlight > 0 || socket.writableEnded) return;
    socket.removeAllListeners('data').removeAllListeners('drain');
    socket.resume(); // bytes that are not read would turn the end into a reset, and the last answers would be lost
    socket.end();
    setTimeout(() => socket.destroy(), LAST_MS).unref();
  }
}

/**
 * Whether a connection begins like an HTTP request. A web page can reach the loopback of its browser's machine: its
 * first line would be skipped as a message of 20 kB, and the body after it could use up units.
 */
function isFromBrowser(chunk: Buffer): boolean {
  return /^[A-Z]{2}/.test(chunk.toString('latin1', 0, 2));
}
