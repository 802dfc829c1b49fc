/** Calls whose end is awaited at most, in a process: far more than decisions take part of. */
const MOST_CALLS = 2048;
const MIB: number = 1024 * 1024;
/** Bytes of incomplete messages at most, in a process and on a connection: a message has up to 4 MiB. */
const MOST_BYTES: number = 16 * MIB;
const MOST_BYTES_OF_CONNECTION: number = 6 * MIB;
/** How long a call may take, from its header fields to its last byte. */
const LONGEST_MS = 10_000;
/** An older call may cost its client the connection, where there are too many. An honest one has ended by then. */
const HONEST_MS = 250;
/** Among this many oldest calls, the connection that has most is closed: an honest client can be late too. */
const SUSPECTS = 64;
const SWEEP_MS = 1000;

/** A call as {@link OpenCalls} knows it, with its links there. */
export interface OpenCall {
  older: OpenCall | undefined;
  newer: OpenCall | undefined;
  readonly arrivedAtMs: number;
  /** Bytes of its incomplete message. */
  readonly heldBytes: number;
  /** The connection that it came over. */
  readonly connection: CallConnection;
  /** Ends it without an answer. */
  drop(): void;
}

/** A connection, with its open calls and the bytes of their incomplete messages. */
export interface CallConnection {
  /** Whether it is a gateway's, and never ended for others: it carries the calls of many clients. */
  readonly isOfGateway: boolean;
  calls: number;
  heldBytes: number;
  /** Whether {@link OpenCalls} has ended it: its calls no longer count. */
  isEnded: boolean;
  /** Ends it with all its calls: `ENHANCE_YOUR_CALM`. */
  calm(): void;
}

/**
 * The calls that have begun and not ended, the oldest first, as a list through the calls themselves: a set that loses
 * an entry for each one it gets keeps the calls of every table that it has outgrown, until the old generation is
 * collected. Bounds their number, their bytes, and their time, so that clients that send requests without end, or do
 * not read responses, cost little. Where there are too many, a connection of the oldest ones is closed: calls of other
 * clients end within milliseconds. A gateway loses its oldest call instead.
 */
export class OpenCalls {
  readonly #sweeper: NodeJS.Timeout;
  #oldest: OpenCall | undefined;
  #newest: OpenCall | undefined;
  #size = 0;
  #bytes = 0;

  constructor() {
    this.#sweeper = setInterval(() => {
      this.#sweep();
    }, SWEEP_MS).unref();
  }

  get size(): number {
    return this.#size;
  }

  /** Whether it takes a call: false where there are too many, and none of them is old. */
  add(call: OpenCall): boolean {
    if (this.#size >= MOST_CALLS && !this.#calmOne(({ calls }) => calls)) return false;
    call.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = call;
    else this.#newest.newer = call;
    this.#newest = call;
    this.#size++;
    call.connection.calls++;
    return true;
  }

  /** Forgets a call, which may be forgotten already. */
  delete(call: OpenCall): void {
    const { older, newer } = call;
    if (older === undefined && this.#oldest !== call) return;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    call.older = call.newer = undefined;
    const { connection, heldBytes } = call;
    if (connection.isEnded) return;
    this.#size--;
    this.#bytes -= heldBytes;
    connection.calls--;
    connection.heldBytes -= heldBytes;
  }

  /**
   * Called when a call in the set holds more bytes, or less. Returns whether it may go on: not where they are too many,
   * and no call is old.
   */
  held({ connection }: OpenCall, change: number): boolean {
    if (connection.isEnded) return true;
    this.#bytes += change;
    connection.heldBytes += change;
    if (connection.heldBytes > MOST_BYTES_OF_CONNECTION && !connection.isOfGateway) this.#calm(connection);
    while (this.#bytes > MOST_BYTES) if (!this.#calmOne(({ heldBytes }) => heldBytes)) return false;
    return true;
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  /**
   * Closes the connection that has most, of those with the oldest calls; where that is a gateway's, drops its oldest call.
   * Returns false where no call is old.
   */
  #calmOne(sizeOf: (connection: CallConnection) => number): boolean {
    const beforeMs = performance.now() - HONEST_MS;
    let worst: OpenCall | undefined;
    let call = this.#oldest;
    for (let left = SUSPECTS; call !== undefined && call.arrivedAtMs <= beforeMs && left > 0; call = call.newer) {
      if (call.connection.isEnded) continue;
      left--;
      if (worst === undefined || sizeOf(call.connection) > sizeOf(worst.connection)) worst = call;
    }
    if (worst === undefined) return false;
    if (worst.connection.isOfGateway) worst.drop();
    else this.#calm(worst.connection);
    return true;
  }

  /** Its calls count no longer, and leave the set when their streams close. */
  #calm(connection: CallConnection): void {
    this.#size -= connection.calls;
    this.#bytes -= connection.heldBytes;
    connection.isEnded = true;
    connection.calm();
  }

  #sweep(): void {
    const beforeMs = performance.now() - LONGEST_MS;
    while (this.#oldest !== undefined && this.#oldest.arrivedAtMs <= beforeMs) this.#oldest.drop();
  }
}
