/** What lies in the heap, and where. */
interface Refused {
  /** Managed by the heap: -1 outside it. */
  at: number;
  untilMs: number;
}

/**
 * The keys that are being refused, in a binary heap by the time their refusal ends: how many there are is exact at
 * every instant, and costs a step per doubling of their number.
 */
export class RefusedKeys<T extends Refused> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Adds an item, or moves the end of its refusal. */
  set(item: T, untilMs: number): void {
    if (item.at < 0) {
      item.untilMs = untilMs;
      this.#up(item, this.#heap.length);
    } else if (item.untilMs !== untilMs) {
      item.untilMs = untilMs;
      this.#place(item, item.at);
    }
  }

  delete(item: T): void {
    const { at } = item;
    if (at < 0) return;
    item.at = -1;
    const last = this.#heap.pop();
    if (last !== undefined && last !== item) this.#place(last, at);
  }

  /** Lets go of one key whose refusal is over, if there is one. */
  release(nowMs: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.untilMs > nowMs) return undefined;
    this.delete(first);
    return first;
  }

  /** Puts an item where it belongs, starting from `at`. */
  #place(item: T, at: number): void {
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
      const below = least.at;
      this.#put(least, at);
      at = below;
    }
    this.#put(item, at);
  }

  #put(item: T, at: number): void {
    item.at = at;
    this.#heap[at] = item;
  }
}
