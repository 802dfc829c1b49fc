/**
 * The clock of a source, as far as its last reply shows it: every process judges the end of an override by it, so that
 * they differ by the way of that reply, and not by their own clocks. Without a reply, the clock of this process.
 */
export class SourceClock {
  /** The source's instant less this process's monotonic clock. */
  #aheadMs: number | undefined;

  /** @param atMs - The source's instant when it replied, milliseconds since 1970. */
  saw(atMs: number): void {
    this.#aheadMs = atMs - performance.now();
  }

  nowMs(): number {
    return this.#aheadMs === undefined ? Date.now() : this.#aheadMs + performance.now();
  }
}
