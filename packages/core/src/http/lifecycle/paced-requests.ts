/** Counts the requests that a limiter holds until they may start, up to a maximum. */
export class PacedRequests {
  readonly #max: number;
  readonly #isOneLine: boolean;
  readonly #counts = new Map<string, number>();
  #count = 0;

  /**
   * @param max - The option `maxPaced`.
   * @param isOneLine - Whether all requests have the same key, so that no key has to leave room for others.
   */
  constructor(max: number, isOneLine: boolean) {
    this.#max = max;
    this.#isOneLine = isOneLine;
  }

  /**
   * Adds a request. A key that holds more places than are free gets no other one: a key that is alone has about half of
   * all, the next one half of the rest.
   *
   * @returns Removes it again; undefined if there is no room for its key.
   */
  enter(key: string): (() => void) | undefined {
    const free = this.#max - this.#count;
    if (free <= 0 || (!this.#isOneLine && (this.#counts.get(key) ?? 0) > free)) return undefined;
    this.#add(key, 1);
    let change = -1;
    return () => {
      this.#add(key, change);
      change = 0;
    };
  }

  #add(key: string, change: number): void {
    this.#count += change;
    const count = (this.#counts.get(key) ?? 0) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
