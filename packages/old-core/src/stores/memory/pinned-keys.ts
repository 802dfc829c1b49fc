/** An item of the heap. */
interface Pinned {
  /** The index in the heap; -1 outside it. Only the heap sets it. */
  heapIndex: number;
  untilMs: number;
}

/**
 * The keys that must not be evicted (they are being denied, blocked, or hold slots), in a binary heap ordered by the
 * end of that. Their number is exact at every instant; a change takes logarithmic time.
 */
export class PinnedKeys<T extends Pinned> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Adds an item, or moves its end. */
  set(item: T, untilMs: number): void {
    if (item.heapIndex < 0) {
      item.untilMs = untilMs;
      this.#up(item, this.#heap.length);
    } else if (item.untilMs !== untilMs) {
      item.untilMs = untilMs;
      this.#restore(item, item.heapIndex);
    }
  }

  delete(item: T): void {
    const { heapIndex: at } = item;
    if (at < 0) return;
    item.heapIndex = -1;
    const last = this.#heap.pop();
    if (last !== undefined && last !== item) this.#restore(last, at);
  }

  /** Removes and returns one key that has reached its end, if there is one. */
  release(nowMs: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.untilMs > nowMs) return undefined;
    this.delete(first);
    return first;
  }

  /** Restores the order of the heap for an item, starting from index `at`. */
  #restore(item: T, at: number): void {
    const parent = this.#heap[(at - 1) >> 1];
    if (at > 0 && parent !== undefined && parent.untilMs > item.untilMs) this.#up(item, at);
    else this.#down(item, at);
  }

  #up(item: T, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above] as T;
      if (parent.untilMs <= item.untilMs) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(item, at);
  }

  #down(item: T, from: number): void {
    let at = from;
    for (;;) {
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      const least = left !== undefined && right !== undefined && right.untilMs < left.untilMs ? right : left;
      if (least === undefined || least.untilMs >= item.untilMs) break;
      const below = least.heapIndex;
      this.#put(least, at);
      at = below;
    }
    this.#put(item, at);
  }

  #put(item: T, at: number): void {
    item.heapIndex = at;
    this.#heap[at] = item;
  }
}
