/** A key that is being refused, and until when. */
export interface Refused {
  readonly key: string;
  refusedUntilMs: number;
}

/**
 * The keys that are being refused, in a binary heap by the time their refusal ends: how many there are is exact at
 * every instant, and costs a step per doubling of their number. A refusal that is prolonged is put right when its first
 * end comes up, so that prolonging costs nothing.
 */
export class RefusedKeys<T extends Refused> {
  readonly #byKey = new Map<string, T>();
  readonly #heap: { readonly item: T; readonly untilMs: number }[] = [];

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key);
  }

  add(item: T): void {
    this.#byKey.set(item.key, item);
    this.#push({ item, untilMs: item.refusedUntilMs });
  }

  delete(key: string): void {
    this.#byKey.delete(key);
  }

  /** Lets go of one key whose refusal is over, if there is one. */
  release(nowMs: number): T | undefined {
    for (let top = this.#heap[0]; top !== undefined && top.untilMs <= nowMs; top = this.#heap[0]) {
      this.#pop();
      const { item } = top;
      if (this.#byKey.get(item.key) !== item) continue;
      if (item.refusedUntilMs <= nowMs) {
        this.#byKey.delete(item.key);
        return item;
      }
      this.#push({ item, untilMs: item.refusedUntilMs });
    }
    return undefined;
  }

  #push(added: { readonly item: T; readonly untilMs: number }): void {
    const heap = this.#heap;
    let at = heap.push(added) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.untilMs <= added.untilMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = added;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = heap[left];
      let leastAt = left;
      const other = heap[right];
      if (least !== undefined && other !== undefined && other.untilMs < least.untilMs)
        [least, leastAt] = [other, right];
      if (least === undefined || least.untilMs >= last.untilMs) break;
      heap[at] = least;
      at = leastAt;
    }
    heap[at] = last;
  }
}
