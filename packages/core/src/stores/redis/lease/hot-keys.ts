/** Requests within one span that make a key worth a slice. */
const HOT = 8;
/** Keys counted at once. Further keys wait for the next span. */
const MOST_COUNTED = 10_000;

/** Detects frequently requested keys by counts of short consecutive spans. A cold key costs one look-up. */
export class HotKeys {
  readonly #spanMs: number;
  #sinceMs = -Infinity;
  #counts = new Map<string, number>();

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Counts a request. Returns whether its key is hot. */
  count(key: string, nowMs: number): boolean {
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
