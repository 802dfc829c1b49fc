interface Scheduled {
  readonly atMs: number;
  readonly act: () => void;
  isOff: boolean;
}

/** True time, which the clock of the store or registry shows: it advances from event to event. */
export class VirtualTime {
  nowMs: number;
  /** Sorted so that the next event is last. */
  readonly #scheduled: Scheduled[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** @returns A function that cancels it. */
  at(atMs: number, act: () => void): () => void {
    const scheduled: Scheduled = { atMs: Math.max(atMs, this.nowMs), act, isOff: false };
    const place = this.#scheduled.findLastIndex((other) => other.atMs > scheduled.atMs);
    this.#scheduled.splice(place + 1, 0, scheduled);
    return () => {
      scheduled.isOff = true;
    };
  }

  after(ms: number, act: () => void): () => void {
    return this.at(this.nowMs + ms, act);
  }

  /** Runs everything due until then, promises included. */
  async runUntil(endMs: number): Promise<void> {
    for (let next = this.#scheduled.at(-1); next !== undefined && next.atMs <= endMs; next = this.#scheduled.at(-1)) {
      this.#scheduled.pop();
      this.nowMs = next.atMs;
      if (next.isOff) continue;
      next.act();
      // Resolved promises continue before time advances.
      for (let i = 0; i < 6; i++) await Promise.resolve();
    }
    this.nowMs = endMs;
  }
}
