import { constants, type ServerHttp2Session } from 'node:http2';

/** Pings of a client between two calls, at most: clients that measure the line send one with each call. */
const MOST_PINGS = 1000;
/** A `GOAWAY` with the largest id: no calls after this one are wanted, and those on their way are still answered. */
const EVERY_STREAM: number = 2 ** 31 - 1;
/** The client has read that once it answers a ping, or after this time. */
const LONGEST_PING_MS = 1000;
/** Connections made together do not end together. */
const JITTER = 0.1;

export interface SessionsOptions {
  /** How long a connection may take new calls, in milliseconds, give or take a tenth. Infinity: as long as it likes. */
  readonly maxConnectionAgeMs: number;
  /** How long after that its calls may still take, in milliseconds. */
  readonly connectionGraceMs: number;
}

interface CountingSession extends ServerHttp2Session {
  [PINGS]?: number;
}

const PINGS = Symbol('pings');

/** The connections of a server: their age, their end, and clients that send pings without end. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new Set<ServerHttp2Session>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  add(session: ServerHttp2Session): void {
    this.#open.add(session);
    const ageing = this.#endWhenOld(session);
    session.on('ping', countPing);
    session.on('close', () => {
      clearTimeout(ageing);
      this.#open.delete(session);
    });
  }

  /** Called with the connection of each call. */
  static called(session: ServerHttp2Session): void {
    (session as CountingSession)[PINGS] = 0;
  }

  /** Asks all clients to leave, and waits until they have, at most this long. */
  async drain(longestMs: number): Promise<void> {
    const closed = [...this.#open].map((session) => new Promise<void>((resolve) => session.once('close', resolve)));
    for (const session of this.#open) leave(session);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, longestMs);
    });
    await Promise.race([Promise.all(closed), late]);
    clearTimeout(timer);
    this.destroy();
    await Promise.all(closed);
  }

  /** Ends all connections, with the calls on them. */
  destroy(): void {
    for (const session of this.#open) session.destroy();
  }

  #endWhenOld(session: ServerHttp2Session): NodeJS.Timeout | undefined {
    const { maxConnectionAgeMs, connectionGraceMs } = this.#options;
    if (maxConnectionAgeMs === Infinity) return undefined;
    const ageMs = maxConnectionAgeMs * (1 - JITTER + 2 * JITTER * Math.random());
    return setTimeout(() => {
      leave(session);
      const end = setTimeout(() => {
        session.destroy();
      }, connectionGraceMs).unref();
      session.once('close', () => {
        clearTimeout(end);
      });
    }, ageMs).unref();
  }
}

/**
 * Asks a client to leave: it makes a new connection for further calls. The connection takes what was on its way meanwhile, and
 * closes when its calls have ended.
 */
function leave(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  const close = (): void => {
    if (!session.destroyed) session.close();
  };
  session.goaway(constants.NGHTTP2_NO_ERROR, EVERY_STREAM);
  session.ping(close);
  setTimeout(close, LONGEST_PING_MS).unref();
}

function countPing(this: CountingSession): void {
  const pings = (this[PINGS] ?? 0) + 1;
  this[PINGS] = pings;
  if (pings > MOST_PINGS) this.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
