import { constants, type ServerHttp2Session } from 'node:http2';
import type { Clients } from '../transport/clients.ts';

/** A `GOAWAY` with the largest id: the client starts no new calls, and calls in flight are still answered. */
const EVERY_STREAM: number = 2 ** 31 - 1;
/** The client has read the `GOAWAY` once it answers a ping, or after this time. */
const MAX_PING_MS = 1000;
/**
 * `maxOutstandingPings` of a server: pings without an answer after which a connection is lost. More than one, because the process
 * itself may be late.
 */
export const LOST_PINGS = 2;

/**
 * The connections of a server: ends them, and detects lost ones. After some client errors (frames of a wrong size,
 * header fields that cannot be decompressed), Node 20 neither reads nor closes the connection, so only pings can tell
 * it from an idle one.
 */
export class Sessions {
  readonly #clients: Clients;
  /** The client of each connection. */
  readonly #open = new Map<ServerHttp2Session, string>();
  readonly #keepalive: NodeJS.Timeout;

  /** @param keepaliveMs - How often a connection is asked for a sign of life, in milliseconds. */
  constructor(keepaliveMs: number, clients: Clients) {
    this.#clients = clients;
    this.#keepalive = setInterval(() => {
      for (const session of this.#open.keys()) keepAlive(session);
    }, keepaliveMs).unref();
  }

  add(session: ServerHttp2Session): void {
    destroyAfterReading(session);
    this.#open.set(session, this.#clients.peerOf(session.socket));
    session.on('close', () => {
      this.#open.delete(session);
    });
  }

  /** The client whose connection it is. */
  clientOf(session: ServerHttp2Session): string {
    return this.#open.get(session) ?? this.#clients.peerOf(session.socket);
  }

  /** Asks all clients to leave. */
  leave(): void {
    for (const session of this.#open.keys()) leave(session);
  }

  /** Ends all connections, with the calls on them. */
  destroy(): void {
    for (const session of this.#open.keys()) session.destroy();
  }

  /** Asks for signs of life no longer. */
  close(): void {
    clearInterval(this.#keepalive);
  }
}

/**
 * Asks a client to leave: it opens a new connection for further calls. The old one accepts calls already on their way,
 * and closes when all its calls have ended.
 */
function leave(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  const close = (): void => {
    if (!session.destroyed) session.close();
  };
  session.goaway(constants.NGHTTP2_NO_ERROR, EVERY_STREAM);
  session.ping(close);
  setTimeout(close, MAX_PING_MS).unref();
}

/**
 * Node 22.23 aborts the process if a connection is destroyed while being read (as Node itself does after a GOAWAY with
 * an error), and a call follows in the same bytes: https://github.com/nodejs/node/issues/64850
 */
function destroyAfterReading(session: ServerHttp2Session): void {
  const destroy = session.destroy.bind(session);
  let isEnding = false;
  session.destroy = (...reason) => {
    if (isEnding) return;
    isEnding = true;
    setImmediate(destroy, ...reason);
  };
}

/** Sends a ping, and destroys a connection with too many that were not answered. */
function keepAlive(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return; // one that is closed ends with its calls, which have their time
  if (!session.ping(() => undefined)) session.destroy();
}
