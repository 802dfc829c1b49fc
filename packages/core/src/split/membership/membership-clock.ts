import { startTimer, stopTimer } from '../../platform.ts';

/** The clocks and timers of a process. */
export interface LocalTime {
  /** Milliseconds that never go back, and stop while a virtual machine is suspended: `performance.now()`. */
  monotonicMs(): number;
  /** Milliseconds since 1970 by the system's clock: `Date.now()`. */
  dateMs(): number;
  /** Calls back after this time. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}

export const localTime: LocalTime = {
  monotonicMs: () => performance.now(),
  dateMs: () => Date.now(),
  after: (ms, call) => {
    const timer = startTimer(ms, call);
    return () => {
      stopTimer(timer);
    };
  },
};

/** When a request was sent. */
export interface AskedAt {
  /** By `performance.now()`. */
  readonly askedAtMs: number;
  /** By `Date.now()`, because `performance.now()` stops while a virtual machine is suspended. */
  readonly askedAtDateMs: number;
}

export function readTime(time: LocalTime): AskedAt {
  return { askedAtMs: time.monotonicMs(), askedAtDateMs: time.dateMs() };
}

/** How long ago a request was sent, by the clock that has advanced more. */
export function getPassedMs({ askedAtMs, askedAtDateMs }: AskedAt, time: LocalTime): number {
  return Math.max(time.monotonicMs() - askedAtMs, time.dateMs() - askedAtDateMs);
}

/** How much faster or slower than the membership's clock a process's clock may run: a thousandth is 86 s a day. */
export const DRIFT: number = 1 / 1000;

/** A reading of the membership's clock: it showed `atMs` at some time after the request was sent. */
export interface Reading extends AskedAt {
  readonly atMs: number;
}

/**
 * The membership's clock, known as an interval. Between replies of the registry the interval advances by the clock of
 * the process, with an allowance for drift. Before the first reply it is the clock of the process.
 */
export class MembershipClock {
  readonly #local: LocalTime;
  readonly #startMonotonicMs: number;
  readonly #startMs: number;
  #reading: Reading | undefined;
  #readingAheadMs = -Infinity;

  /**
   * The clock that measures spans, in whole milliseconds. It never advances faster than the membership's clock, and
   * starts at the process's date.
   */
  slowMs: number;
  /** The membership's clock shows at least this. It goes back only after {@link forget}. */
  earliestMs: number;
  /** The membership's clock shows at most this. */
  latestMs: number;

  /** How far `earliestMs` is ahead of `slowMs`. Grows with better readings, and rarely falls. */
  get aheadMs(): number {
    return this.earliestMs - this.slowMs;
  }

  constructor(local: LocalTime) {
    this.#local = local;
    this.#startMonotonicMs = local.monotonicMs();
    this.#startMs = Math.floor(local.dateMs());
    this.slowMs = this.earliestMs = this.latestMs = this.#startMs;
  }

  /** Reads the clocks of the process and updates the three instants. */
  read(): void {
    const monotonicMs = this.#local.monotonicMs();
    this.slowMs = Math.floor(this.#slowAt(monotonicMs));
    if (this.#reading === undefined) {
      const passedMs = this.#startMs + monotonicMs - this.#startMonotonicMs;
      // The date advances while a machine is suspended. It is only followed forwards.
      this.earliestMs = this.latestMs = Math.floor(Math.max(passedMs, this.#local.dateMs(), this.earliestMs));
      return;
    }
    this.earliestMs = this.slowMs + this.#readingAheadMs;
    this.latestMs = Math.max(this.#latestBy(this.#reading), this.earliestMs);
  }

  /** Discards all readings, because the registry may be another one. */
  forget(): void {
    this.#reading = undefined;
    this.#readingAheadMs = -Infinity;
  }

  /** Adds a reading that has just arrived. */
  add(reading: Reading): void {
    const aheadMs = Math.floor(reading.atMs - this.#slowAt(this.#local.monotonicMs()));
    this.#readingAheadMs = Math.max(this.#readingAheadMs, aheadMs);
    const before = this.#reading === undefined ? Infinity : this.#latestBy(this.#reading);
    // An older reading can be more precise. If the two contradict each other, time stood still here, and the new one
    // counts.
    if (before < reading.atMs || this.#latestBy(reading) < before) this.#reading = reading;
  }

  /** How long it takes at most until `slowMs` and `earliestMs` have advanced by `ms`. */
  longestWaitMs(ms: number): number {
    return Math.ceil(ms * (1 + 2.1 * DRIFT)); // the process's clock may be slow, and these two are slower still
  }

  #slowAt(monotonicMs: number): number {
    return this.#startMs + (monotonicMs - this.#startMonotonicMs) * (1 - DRIFT);
  }

  #latestBy(reading: Reading): number {
    return Math.floor(reading.atMs + 1 + getPassedMs(reading, this.#local) * (1 + DRIFT));
  }
}
