import { LruList, type Linked } from '../../engine/lru-list.ts';

/** Pinned keys in the order in which they were pinned: those of one table, or those that `block` blocks. */
export class PinnedGroup<T extends Linked<T>> {
  readonly #order = new LruList<T>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get oldest(): T | undefined {
    return this.#order.oldest;
  }

  add(entry: T): void {
    this.#order.add(entry);
    this.#size++;
  }

  delete(entry: T): void {
    this.#order.delete(entry);
    this.#size--;
  }
}
