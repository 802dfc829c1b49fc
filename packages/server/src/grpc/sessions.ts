import { constants, type ServerHttp2Session } from 'node:http2';
import type { Clients } from '../transport/clients.ts';

/** A `GOAWAY` with the largest id: the client starts no new calls, and calls in flight are still answered. */
const EVERY_STREAM: number = 2 ** 31 - 1;
/** The client has read the `GOAWAY` once it answers a ping, or after this time. */
const MAX_PING_MS = 1000;
/** A connection is lost after this many unanswered pings: more than one, because this process itself may be late. */
const LOST_PINGS = 2;
interface CountingSession extends ServerHttp2Session {
  /** Our pings since the last sign of life (an answer or a call). */
  [UNANSWERED]?: number;
  [PEER]?: string;
}

const UNANSWERED = Symbol('unanswered');
const PEER = Symbol('peer');

/**
 * The connections of a server: ends them, and detects lost ones. After some client errors (frames of a wrong size,
 * header fields that cannot be decompressed), Node 20 neither reads nor closes the connection, so only pings can tell
 * it from an idle one.
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

  /** Called with the connection of each call. Returns the client that made the call. */
  called(session: ServerHttp2Session): string {
    const counting = session as CountingSession;
    counting[UNANSWERED] = 0;
    const known = counting[PEER];
    return known ?? (counting[PEER] = this.#clients.peerOf(session.socket));
  }

  /** Asks all clients to leave, and waits for that, at most this long. */
  async drain(longestMs: number): Promise<void> {
    const closed = [...this.#open].map((session) => new Promise<void>((resolve) => session.once('close', resolve)));
    for (const session of this.#open) leave(session);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, longestMs);
    });
    await Promise.race([Promise.all(closed), late]);
    clearTimeout(timer);
    clearInterval(this.#keepalive);
    this.destroy();
    await Promise.all(closed);
  }

  /** Ends all connections, with the calls on them. */
  destroy(): void {
    for (const session of this.#open) session.destroy();
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

/** Destroys lost connections, and sends a ping to the others. */
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
