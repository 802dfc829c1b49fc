/** Links of an entry in a {@link LruList}. */
export interface Linked<T> {
  older: T | undefined;
  newer: T | undefined;
}

/**
 * Entries in the order of their last use, as a list through the entries themselves: adding, using and removing cost the
 * same however many there are. (A map keeps insertion order too, but finding its first key passes over all that have
 * been deleted before it, and an iterator that stands still keeps every table that the map has outgrown.)
 */
export class LruList<T extends Linked<T>> {
  #oldest: T | undefined;
  #newest: T | undefined;
  #walker: T | undefined;

  get oldest(): T | undefined {
    return this.#oldest;
  }

  add(entry: T): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  delete(entry: T): void {
    if (this.#walker === entry) this.#walker = entry.newer;
    if (entry.older === undefined) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    entry.older = entry.newer = undefined;
  }

  use(entry: T): void {
    if (entry === this.#newest) return;
    this.delete(entry);
    this.add(entry);
  }

  /** The next entry of a walk round and round the list. */
  walk(): T | undefined {
    const entry = this.#walker ?? this.#oldest;
    this.#walker = entry?.newer;
    return entry;
  }
}
