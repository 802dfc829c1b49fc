import type { LocalClocks } from '../local-clocks.ts';

/** What an answer of the registry says of its clock: it showed `atMs` some time after it was asked. */
export interface Sample {
  readonly atMs: number;
  readonly askedAtMs: number;
  readonly askedAtDateMs: number;
}

/**
 * The membership's clock, as an interval that it lies in. Between answers of the registry it goes on by the clock of the
 * process, with an allowance for drift. Without any answer it is the clock of the process.
 */
export class MembershipClock {
  readonly #local: LocalClocks;
  readonly #drift: number;
  readonly #startMonotonicMs: number;
  readonly #startMs: number;
  #sample: Sample | undefined;
  #sampleAheadMs = -Infinity;

  /**
   * Spans are measured by this one: of a span on the membership's clock it shows no more. Whole milliseconds, begun at
   * the process's time.
   */
  slowMs: number;
  /** The membership's clock shows at least this. Never goes back, but by {@link forget}. */
  earliestMs: number;
  /** And at most this. */
  latestMs: number;

  /** @param drift - How much faster or slower than it the clock of the process may run. */
  constructor(local: LocalClocks, drift: number) {
    this.#local = local;
    this.#drift = drift;
    this.#startMonotonicMs = local.monotonicMs();
    this.#startMs = Math.floor(local.dateMs());
    this.slowMs = this.earliestMs = this.latestMs = this.#startMs;
  }

  /** How far `earliestMs` is ahead of `slowMs`. Grows as better answers come, and never falls. */
  get aheadMs(): number {
    return this.earliestMs - this.slowMs;
  }

  /** Reads the clocks of the process, and sets the three instants by them. */
  read(): void {
    const monotonicMs = this.#local.monotonicMs();
    this.slowMs = Math.floor(this.#slowAt(monotonicMs));
    if (this.#sample === undefined) {
      const passedMs = this.#startMs + monotonicMs - this.#startMonotonicMs;
      // The date goes on while a machine is suspended, and is followed forwards alone.
      this.earliestMs = this.latestMs = Math.floor(Math.max(passedMs, this.#local.dateMs(), this.earliestMs));
      return;
    }
    this.earliestMs = this.slowMs + this.#sampleAheadMs;
    this.latestMs = Math.max(this.#latestBy(this.#sample, monotonicMs, this.#local.dateMs()), this.earliestMs);
  }

  /** What was said before is no longer true: the registry is another one, maybe. */
  forget(): void {
    this.#sample = undefined;
    this.#sampleAheadMs = -Infinity;
  }

  /** Takes what the registry said, just now. */
  note(sample: Sample): void {
    const monotonicMs = this.#local.monotonicMs();
    const dateMs = this.#local.dateMs();
    this.#sampleAheadMs = Math.max(this.#sampleAheadMs, Math.floor(sample.atMs - this.#slowAt(monotonicMs)));
    const before = this.#sample === undefined ? Infinity : this.#latestBy(this.#sample, monotonicMs, dateMs);
    // The older answer may be the better one, but not when this one contradicts it: then time stood still here.
    if (before < sample.atMs || this.#latestBy(sample, monotonicMs, dateMs) < before) this.#sample = sample;
  }

  #slowAt(monotonicMs: number): number {
    return this.#startMs + (monotonicMs - this.#startMonotonicMs) * (1 - this.#drift);
  }

  /** The latest instant that the registry's clock can show by now. The date tells of a machine that was suspended. */
  #latestBy({ atMs, askedAtMs, askedAtDateMs }: Sample, monotonicMs: number, dateMs: number): number {
    const passedMs = Math.max(monotonicMs - askedAtMs, dateMs - askedAtDateMs);
    return Math.floor(atMs + 1 + passedMs * (1 + this.#drift));
  }

  /** How long it takes at most until `slowMs` and `earliestMs` have gone on by so much. */
  longestWaitMs(ms: number): number {
    return Math.ceil(ms * (1 + 2.1 * this.#drift)); // the process's clock may be slow, and these are slower by as much
  }
}
