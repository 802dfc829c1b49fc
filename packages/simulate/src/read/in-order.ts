import type { LogEntry } from '../formats/log-entry.ts';

const SECOND_MS = 1000;
/** No entry is before 1970, where the clocks of small devices begin. */
const BEFORE_1970 = -1;
/** Entries that wait at most, whatever the window, and bytes of log behind them: so much memory, and no more. */
const MOST_WAITING = 100_000;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * Brings entries into the order of their instants, as far as they are apart by no more than a window: servers write a
 * line when a request has ended, or with the stamp of its beginning after those that ended before. Hands on one second
 * at a time.
 */
export class InOrder {
  readonly #seconds: number;
  readonly #emit: (entries: LogEntry[], second: number) => void;
  /** The entries of a second, at its remainder by the length. */
  readonly #ring: LogEntry[][];
  #newest = -Infinity;
  /** The last second that was handed on. */
  #emitted = -Infinity;
  #waiting = 0;
  #waitingBytes = 0;
  /** Entries that came later than the window, and are decided at the instant that the rest had reached. */
  late = 0;

  /** @param windowMs - Rounded up to seconds. */
  constructor(windowMs: number, emit: (entries: LogEntry[], second: number) => void) {
    this.#seconds = Math.ceil(windowMs / SECOND_MS) + 1;
    this.#emit = emit;
    this.#ring = Array.from({ length: this.#seconds }, () => []);
  }

  add(entry: LogEntry): void {
    let second = Math.floor(entry.atMs / SECOND_MS);
    if (second <= this.#emitted) {
      this.late++;
      second = this.#emitted + 1;
      entry.atMs = second * SECOND_MS;
    }
    if (second > this.#newest) this.#advance(second);
    (this.#ring[second % this.#seconds] as LogEntry[]).push(entry);
    this.#waitingBytes += entry.heldBytes;
    if (++this.#waiting > MOST_WAITING || this.#waitingBytes > MOST_WAITING_BYTES) this.#emitOldest();
  }

  end(): void {
    if (this.#newest !== -Infinity) this.#emitThrough(this.#newest);
  }

  #advance(second: number): void {
    if (this.#newest !== -Infinity) this.#emitThrough(Math.min(second - this.#seconds, this.#newest));
    // A log that begins out of order: what is within the window before its first entry still comes in time.
    else this.#emitted = Math.max(second - this.#seconds, BEFORE_1970);
    this.#emitted = Math.max(this.#emitted, second - this.#seconds);
    this.#newest = second;
  }

  #emitOldest(): void {
    let second = this.#emitted + 1;
    while (second < this.#newest && (this.#ring[second % this.#seconds] as LogEntry[]).length === 0) second++;
    this.#emitThrough(second);
    // The newest second goes on: what still comes of it is handed on after this part.
    if (second === this.#newest) this.#emitted--;
  }

  #emitThrough(last: number): void {
    for (let second = this.#emitted + 1; second <= last; second++) {
      const at = second % this.#seconds;
      const entries = this.#ring[at] as LogEntry[];
      if (entries.length === 0) continue;
      this.#ring[at] = [];
      this.#waiting -= entries.length;
      for (const { heldBytes } of entries) this.#waitingBytes -= heldBytes;
      if (!isSorted(entries)) entries.sort((one, other) => one.atMs - other.atMs);
      this.#emit(entries, second);
    }
    this.#emitted = Math.max(this.#emitted, last);
  }
}

function isSorted(entries: readonly LogEntry[]): boolean {
  for (let i = 1; i < entries.length; i++) {
    if ((entries[i] as LogEntry).atMs < (entries[i - 1] as LogEntry).atMs) return false;
  }
  return true;
}
