import type { Call } from './call.ts';

/** Calls whose end is awaited at most, in a process: far more than decisions take part of. */
const MOST_CALLS = 8192;
/** Bytes of incomplete messages at most, in a process. */
const MOST_BYTES: number = 64 * 1024 * 1024;
/** How long a call may take, from its header fields to its last byte. */
const LONGEST_MS = 10_000;
const SWEEP_MS = 1000;

/**
 * The calls that have begun and not ended, the oldest first. Bounds their number, their bytes, and their time, so that clients
 * that send requests without end, or do not read responses, cost little. Where there are too many, the oldest one is dropped:
 * calls of other clients end within milliseconds.
 */
export class OpenCalls {
  readonly #calls = new Set<Call>();
  readonly #sweeper: NodeJS.Timeout;
  #bytes = 0;

  constructor() {
    this.#sweeper = setInterval(() => {
      this.#sweep();
    }, SWEEP_MS).unref();
  }

  get size(): number {
    return this.#calls.size;
  }

  add(call: Call): void {
    if (this.#calls.size >= MOST_CALLS) this.#dropOldest();
    this.#calls.add(call);
  }

  delete(call: Call): void {
    if (this.#calls.delete(call)) this.#bytes -= call.heldBytes;
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
    const [oldest] = this.#calls;
    if (oldest !== undefined) oldest.drop();
  }

  #sweep(): void {
    const beforeMs = performance.now() - LONGEST_MS;
    for (const call of this.#calls) {
      if (call.arrivedAtMs > beforeMs) return;
      call.drop();
    }
  }
}
