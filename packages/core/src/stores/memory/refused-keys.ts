/** A key that is being refused, and until when. */
export interface Refused {
  readonly key: string;
  refusedUntilMs: number;
}

interface Slot<T> {
  readonly item: T;
  untilMs: number;
  at: number;
}

/**
 * The keys that are being refused, in a binary heap by the time their refusal ends: how many there are is exact at
 * every instant, and costs a step per doubling of their number. A refusal that is prolonged is put right when its first
 * end comes up, so that prolonging costs nothing.
 */
export class RefusedKeys<T extends Refused> {
  readonly #byKey = new Map<string, Slot<T>>();
  readonly #heap: Slot<T>[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  add(item: T): void {
    const slot = { item, untilMs: item.refusedUntilMs, at: 0 };
    this.#byKey.set(item.key, slot);
    this.#up(slot, this.#heap.length);
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
    for (let first = this.#heap[0]; first !== undefined && first.untilMs <= nowMs; first = this.#heap[0]) {
      const { item } = first;
      if (item.refusedUntilMs <= nowMs) {
        this.delete(item.key);
        return item;
      }
      first.untilMs = item.refusedUntilMs;
      this.#place(first, 0);
    }
    return undefined;
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
