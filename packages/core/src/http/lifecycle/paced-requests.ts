/** Counts the requests that one layer holds until they may start, up to a maximum. */
export class PacedRequests {
  readonly #max: number;
  #count = 0;

  /** @param max - The option `maxHeld`. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Adds a request to each, or to none.
   *
   * @returns Removes it again; undefined when one of them is full.
   */
  static enter(all: Iterable<PacedRequests>): (() => void) | undefined {
    const entered = new Set(all);
    for (const requests of entered) if (requests.#count >= requests.#max) return undefined;
    for (const requests of entered) requests.#count++;
    return () => {
      for (const requests of entered) requests.#count--;
      entered.clear();
    };
  }
}
