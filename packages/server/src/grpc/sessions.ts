import { constants, type ServerHttp2Session } from 'node:http2';
import type { Clients } from '../transport/clients.ts';

/** A `GOAWAY` with the largest id: the client opens no further calls, and calls in flight are still answered. */
const EVERY_STREAM: number = 2 ** 31 - 1;
/** The client has read that once it answers a ping, or after this time. */
const MAX_PING_MS = 1000;
/** Pings without an answer after which a connection is lost: more than one, because the process itself may be late. */
const LOST_PINGS = 2;
interface CountingSession extends ServerHttp2Session {
  /** Our pings since the last sign of life: an answer, or a call. */
  [UNANSWERED]?: number;
  [PEER]?: string;
}

const UNANSWERED = Symbol('unanswered');
const PEER = Symbol('peer');

/**
 * The connections of a server: their end, and those that are lost.
 * After some errors of a client, Node 20 reads nothing more and ends nothing (frames of a wrong size, header fields
 * that cannot be decompressed), so that only pings tell such a connection from an idle one.
 */
export class Sessions {
  readonly #clients: Clients;
  readonly #open = new Set<CountingSession>();
  readonly #keepalive: NodeJS.Timeout;

  /** @param keepaliveMs - How often a connection without calls is asked for a sign of life, in milliseconds. */
  constructor(keepaliveMs: number, clients: Clients) {
    this.#clients = clients;
    this.#keepalive = setInterval(() => {
      for (const session of this.#open) keepAlive(session);
    }, keepaliveMs).unref();
  }

  add(session: ServerHttp2Session): void {
    destroyAfterReading(session);
    this.#open.add(session);
    session.on('close', () => {
      this.#open.delete(session);
    });
  }

  /** Called with the connection of each call. Returns the client whose call it is. */
  called(session: ServerHttp2Session): string {
    const counting = session as CountingSession;
    counting[UNANSWERED] = 0;
    const known = counting[PEER];
    return known ?? (counting[PEER] = this.#clients.peerOf(session.socket));
  }

  /** Asks all clients to leave. */
  leave(): void {
    for (const session of this.#open) leave(session);
  }

  /** Ends all connections, with the calls on them. */
  destroy(): void {
    for (const session of this.#open) session.destroy();
  }

  /** Asks for signs of life no longer. */
  close(): void {
    clearInterval(this.#keepalive);
  }
}

/**
 * Asks a client to leave: it makes a new connection for further calls. The connection takes what was on its way
 * meanwhile, and closes when its calls have ended.
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
 * Node 22.23 aborts the process where a connection is destroyed while it is read, as Node itself does after a GOAWAY with an error, and
 * a call follows in the same bytes: https://github.com/nodejs/node/issues/64850
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

/** Destroys a connection that is lost, and sends a ping to others. */
function keepAlive(session: CountingSession): void {
  if (session.destroyed || session.closed) return; // one that is closed ends with its calls, which have their time
  const unanswered = session[UNANSWERED] ?? 0;
  if (unanswered >= LOST_PINGS) {
    session.destroy();
    return;
  }
  session[UNANSWERED] = unanswered + 1;
  session.ping((error) => {
    if (error === null) session[UNANSWERED] = 0;
  });
}
