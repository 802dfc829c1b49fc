/** Asked for that often within one span, a key is worth a slice. */
const HOT = 8;
/** Keys counted at once: beyond them newcomers wait for the next span. */
const MOST_COUNTED = 10_000;

/** Which keys are asked for often: counts of short spans, one after the other. A key that is not costs one look. */
export class HotKeys {
  readonly #spanMs: number;
  #sinceMs = -Infinity;
  #counts = new Map<string, number>();

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Counts one more request for a key. Whether it is asked for often. */
  note(key: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= this.#spanMs) {
      this.#sinceMs = nowMs;
      if (this.#counts.size > 0) this.#counts = new Map();
    }
    const count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size < MOST_COUNTED) this.#counts.set(key, 1);
      return false;
    }
    if (count + 1 < HOT) {
      this.#counts.set(key, count + 1);
      return false;
    }
    this.#counts.delete(key);
    return true;
  }
}
