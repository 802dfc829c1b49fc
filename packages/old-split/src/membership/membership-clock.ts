import type { LocalClocks } from '@sluice/old-core/spi';

/** A reading of the registry's clock: it showed `atMs` at some time after the request was sent. */
export interface Sample {
  readonly atMs: number;
  readonly askedAtMs: number;
  readonly askedAtDateMs: number;
}

/**
 * The membership's clock, known as an interval. Between replies of the registry the interval advances by the clock of
 * the process, with an allowance for drift. Before the first reply it is the clock of the process.
 */
export class MembershipClock {
  readonly #local: LocalClocks;
  readonly #drift: number;
  readonly #startMonotonicMs: number;
  readonly #startMs: number;
  #sample: Sample | undefined;
  #sampleAheadMs = -Infinity;

  /**
   * The clock that measures spans. It never advances faster than the membership's clock. Whole milliseconds, starting
   * at the date of the process.
   */
  slowMs: number;
  /** The membership's clock shows at least this. It goes back only after {@link forget}. */
  earliestMs: number;
  /** The membership's clock shows at most this. */
  latestMs: number;

  /** @param drift - How much faster or slower than the membership's clock the clock of the process may run. */
  constructor(local: LocalClocks, drift: number) {
    this.#local = local;
    this.#drift = drift;
    this.#startMonotonicMs = local.monotonicMs();
    this.#startMs = Math.floor(local.dateMs());
    this.slowMs = this.earliestMs = this.latestMs = this.#startMs;
  }

  /** How far `earliestMs` is ahead of `slowMs`. Grows with better readings, and never falls. */
  get aheadMs(): number {
    return this.earliestMs - this.slowMs;
  }

  /** Reads the clocks of the process and updates the three instants. */
  read(): void {
    const monotonicMs = this.#local.monotonicMs();
    this.slowMs = Math.floor(this.#slowAt(monotonicMs));
    if (this.#sample === undefined) {
      const passedMs = this.#startMs + monotonicMs - this.#startMonotonicMs;
      // The date advances while a machine is suspended. It is followed forwards only.
      this.earliestMs = this.latestMs = Math.floor(Math.max(passedMs, this.#local.dateMs(), this.earliestMs));
      return;
    }
    this.earliestMs = this.slowMs + this.#sampleAheadMs;
    this.latestMs = Math.max(this.#latestBy(this.#sample, monotonicMs, this.#local.dateMs()), this.earliestMs);
  }

  /** Discards all readings, because the registry may be another one. */
  forget(): void {
    this.#sample = undefined;
    this.#sampleAheadMs = -Infinity;
  }

  /** Adds a reading that has just arrived. */
  add(sample: Sample): void {
    const monotonicMs = this.#local.monotonicMs();
    const dateMs = this.#local.dateMs();
    this.#sampleAheadMs = Math.max(this.#sampleAheadMs, Math.floor(sample.atMs - this.#slowAt(monotonicMs)));
    const before = this.#sample === undefined ? Infinity : this.#latestBy(this.#sample, monotonicMs, dateMs);
    // An older reading can be the better one. If the two contradict each other, time stood still here: the new one
    // counts.
    if (before < sample.atMs || this.#latestBy(sample, monotonicMs, dateMs) < before) this.#sample = sample;
  }

  #slowAt(monotonicMs: number): number {
    return this.#startMs + (monotonicMs - this.#startMonotonicMs) * (1 - this.#drift);
  }

  /** The latest instant that the registry's clock can show now. The date includes the time a machine was suspended. */
  #latestBy({ atMs, askedAtMs, askedAtDateMs }: Sample, monotonicMs: number, dateMs: number): number {
    const passedMs = Math.max(monotonicMs - askedAtMs, dateMs - askedAtDateMs);
    return Math.floor(atMs + 1 + passedMs * (1 + this.#drift));
  }

  /** How long it takes at most until `slowMs` and `earliestMs` have advanced by `ms`. */
  longestWaitMs(ms: number): number {
    return Math.ceil(ms * (1 + 2.1 * this.#drift)); // the process's clock may be slow, and these two are slower still
  }
}
