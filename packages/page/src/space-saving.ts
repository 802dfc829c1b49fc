/** A counted entry. The true count is at most `count`, and at least `count - error`. */
export interface Counted<Item> {
  readonly id: string;
  readonly item: Item;
  readonly count: number;
  readonly error: number;
}

interface Slot<Item> {
  id: string;
  item: Item;
  count: number;
  error: number;
  /** Its place in the heap. */
  at: number;
}

/**
 * The most frequent entries of a stream in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi, 2005). An entry
 * that is not kept takes the place of the smallest one, and inherits its count as its error. Of `capacity` slots, every
 * entry with more than a `capacity`th of all counts is kept. `add` takes O(log capacity).
 */
export class SpaceSaving<Item> {
  readonly #capacity: number;
  readonly #slots = new Map<string, Slot<Item>>();
  /** Ordered as a heap: no count is below that of its parent. */
  readonly #heap: Slot<Item>[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The most that an entry which is not kept can have been counted. */
  get missed(): number {
    return this.#heap.length < this.#capacity ? 0 : (this.#heap[0]?.count ?? 0);
  }

  /** @param itemOf - Makes what is kept with a new entry. */
  add(id: string, weight: number, itemOf: () => Item): void {
    const known = this.#slots.get(id);
    if (known !== undefined) {
      known.count += weight;
      this.#sink(known);
      return;
    }
    if (this.#heap.length < this.#capacity) {
      const slot: Slot<Item> = { id, item: itemOf(), count: weight, error: 0, at: this.#heap.length };
      this.#slots.set(id, slot);
      this.#heap.push(slot);
      this.#rise(slot);
      return;
    }
    const smallest = this.#heap[0] as Slot<Item>;
    this.#slots.delete(smallest.id);
    smallest.id = id;
    smallest.item = itemOf();
    smallest.error = smallest.count;
    smallest.count += weight;
    this.#slots.set(id, smallest);
    this.#sink(smallest);
  }

  get(id: string): Counted<Item> | undefined {
    return this.#slots.get(id);
  }

  entries(): readonly Counted<Item>[] {
    return this.#heap;
  }

  #rise(slot: Slot<Item>): void {
    while (slot.at > 0) {
      const parent = this.#heap[(slot.at - 1) >> 1] as Slot<Item>;
      if (parent.count <= slot.count) return;
      this.#swap(slot, parent);
    }
  }

  #sink(slot: Slot<Item>): void {
    for (;;) {
      const left = this.#heap[2 * slot.at + 1];
      const right = this.#heap[2 * slot.at + 2];
      const smaller = right !== undefined && left !== undefined && right.count < left.count ? right : left;
      if (smaller === undefined || smaller.count >= slot.count) return;
      this.#swap(slot, smaller);
    }
  }

  #swap(a: Slot<Item>, b: Slot<Item>): void {
    [a.at, b.at] = [b.at, a.at];
    this.#heap[a.at] = a;
    this.#heap[b.at] = b;
  }
}
