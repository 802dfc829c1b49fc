/** Calls whose end is awaited at most, in a process: far more than decisions take part of. */
const MOST_CALLS = 8192;
/** Bytes of incomplete messages at most, in a process. */
const MOST_BYTES: number = 64 * 1024 * 1024;
/** How long a call may take, from its header fields to its last byte. */
const LONGEST_MS = 10_000;
const SWEEP_MS = 1000;

/** A call as {@link OpenCalls} knows it, with its links there. */
export interface OpenCall {
  older: OpenCall | undefined;
  newer: OpenCall | undefined;
  readonly arrivedAtMs: number;
  /** Bytes of its incomplete message. */
  readonly heldBytes: number;
  /** Ends it without an answer. */
  drop(): void;
}

/**
 * The calls that have begun and not ended, the oldest first, as a list through the calls themselves: a set that loses
 * an entry for each one it gets keeps the calls of every table that it has outgrown, until the old generation is
 * collected. Bounds their number, their bytes, and their time, so that clients that send requests without end, or do
 * not read responses, cost little. Where there are too many, the oldest one is dropped: calls of other clients end
 * within milliseconds.
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

  add(call: OpenCall): void {
    if (this.#size >= MOST_CALLS) this.#dropOldest();
    call.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = call;
    else this.#newest.newer = call;
    this.#newest = call;
    this.#size++;
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
    this.#size--;
    this.#bytes -= call.heldBytes;
  }

  /** Called when a call in the set holds more bytes, or less. */
  held(change: number): void {
    this.#bytes += change;
    while (this.#bytes > MOST_BYTES) this.#dropOldest();
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  #dropOldest(): void {
    this.#oldest?.drop();
  }

  #sweep(): void {
    const beforeMs = performance.now() - LONGEST_MS;
    while (this.#oldest !== undefined && this.#oldest.arrivedAtMs <= beforeMs) this.#dropOldest();
  }
}
