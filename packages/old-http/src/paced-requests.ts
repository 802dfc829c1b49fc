/** A request that may have to wait, in one layer. */
export interface PacedRequest {
  readonly pacedRequests: PacedRequests;
  /** Whose line it joins: the same for all requests with equal keys. */
  readonly key: string;
}

/** Counts the requests that one layer holds until they may start, up to a maximum. */
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
   * Adds a request to each of its layers, or to none. A key that holds more positions than are free gets no other one:
   * a key that is alone has about half of all, the next one half of the rest.
   *
   * @returns Removes it again; undefined when one of them has no room for its key.
   */
  static enter(requests: readonly PacedRequest[]): (() => void) | undefined {
    // Two layers share one room where one is a variant of the other.
    const entered = new Map(requests.map(({ pacedRequests, key }) => [pacedRequests, key]));
    for (const [pacedRequests, key] of entered) if (!pacedRequests.#hasRoomFor(key)) return undefined;
    for (const [pacedRequests, key] of entered) pacedRequests.#add(key, 1);
    return () => {
      for (const [pacedRequests, key] of entered) pacedRequests.#add(key, -1);
      entered.clear();
    };
  }

  #hasRoomFor(key: string): boolean {
    const free = this.#max - this.#count;
    return free > 0 && (this.#isOneLine || (this.#counts.get(key) ?? 0) <= free);
  }

  #add(key: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#counts.get(key) ?? 0) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
