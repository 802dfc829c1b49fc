interface Slot<T> {
  readonly item: T;
  untilMs: number;
  at: number;
}

/**
 * The keys that are being refused, in a binary heap by the time their refusal ends: how many there are is exact at
 * every instant, and costs a step per doubling of their number.
 */
export class RefusedKeys<T extends { readonly key: string }> {
  readonly #byKey = new Map<string, Slot<T>>();
  readonly #heap: Slot<T>[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  /** Adds an item, or moves the end of its refusal. */
  set(item: T, untilMs: number): void {
    const slot = this.#byKey.get(item.key);
    if (slot?.untilMs === untilMs) return;
    if (slot !== undefined) {
      slot.untilMs = untilMs;
      this.#place(slot, slot.at);
      return;
    }
    const added = { item, untilMs, at: this.#heap.length };
    this.#byKey.set(item.key, added);
    this.#up(added, added.at);
  }

  delete(key: string): void {
    const slot = this.#byKey.get(key);
    if (slot === undefined) return;
    this.#byKey.delete(key);
    const last = this.#heap.pop();
    if (last !== undefined && last !== slot) this.#place(last, slot.at);
  }

  /** Lets go of one key whose refusal is over, if there is one. */
  release(nowMs: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.untilMs > nowMs) return undefined;
    this.delete(first.item.key);
    return first.item;
  }

  /** Puts a slot where it belongs, starting from `at`. */
  #place(slot: Slot<T>, at: number): void {
    const parent = this.#heap[(at - 1) >> 1];
    if (at > 0 && parent !== undefined && parent.untilMs > slot.untilMs) this.#up(slot, at);
    else this.#down(slot, at);
  }

  #up(slot: Slot<T>, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above] as Slot<T>;
      if (parent.untilMs <= slot.untilMs) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(slot, at);
  }

  #down(slot: Slot<T>, from: number): void {
    let at = from;
    for (;;) {
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      const least = left !== undefined && right !== undefined && right.untilMs < left.untilMs ? right : left;
      if (least === undefined || least.untilMs >= slot.untilMs) break;
      const below = least.at;
      this.#put(least, at);
      at = below;
    }
    this.#put(slot, at);
  }

  #put(slot: Slot<T>, at: number): void {
    slot.at = at;
    this.#heap[at] = slot;
  }
}
