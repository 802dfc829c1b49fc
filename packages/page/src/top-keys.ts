/** A frequent entry, and how often it was counted, at least. */
export interface Frequent<Item> {
  readonly item: Item;
  readonly count: number;
}

/** How many entries of each period are always kept. */
const CAPACITY = 1_000;
const PERIODS = 3;

/** The most frequent entries of the last three periods, in bounded memory. */
export class TopKeys<Item> {
  #periods: readonly Period<Item>[];

  constructor(nowMs: number) {
    this.#periods = [new Period(nowMs)];
  }

  get sinceMs(): number {
    return Math.min(...this.#periods.map(({ sinceMs }) => sinceMs));
  }

  /**
   * Counts an entry, and returns what is kept with it in this period.
   *
   * @param makeItem - Creates what is kept with a new entry.
   */
  add(id: string, makeItem: () => Item): Item {
    return (this.#periods[0] as Period<Item>).add(id, makeItem);
  }

  /** Begins a period, and forgets the oldest one. */
  turn(nowMs: number): void {
    this.#periods = [new Period(nowMs), ...this.#periods.slice(0, PERIODS - 1)];
  }

  /** Everything kept with an entry, the current period first. */
  find(id: string): readonly Item[] {
    return this.#periods.flatMap(({ entries }) => entries.get(id)?.item ?? []);
  }

  /** All kept entries by id, in any order. */
  items(): ReadonlyMap<string, Item> {
    return new Map(this.#periods.flatMap(({ entries }) => [...entries].map(([id, { item }]) => [id, item])));
  }

  /** All kept entries, most frequent first. */
  ranked(): readonly Frequent<Item>[] {
    const countOf = (id: string): number =>
      this.#periods.reduce((sum, { entries }) => sum + (entries.get(id)?.count ?? 0), 0);
    const all = [...this.items()].map(([id, item]) => ({ item, count: countOf(id) }));
    return all.toSorted((a, b) => b.count - a.count);
  }
}

/** Keeps up to twice the capacity, then drops the less frequent half. An entry that comes back counts from then on. */
class Period<Item> {
  readonly entries = new Map<string, { readonly item: Item; count: number }>();
  readonly sinceMs: number;

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  add(id: string, makeItem: () => Item): Item {
    const known = this.entries.get(id);
    if (known !== undefined) {
      known.count++;
      return known.item;
    }
    if (this.entries.size === 2 * CAPACITY) {
      const dropped = [...this.entries].toSorted(([, a], [, b]) => b.count - a.count).slice(CAPACITY);
      for (const [name] of dropped) this.entries.delete(name);
    }
    const item = makeItem();
    this.entries.set(id, { item, count: 1 });
    return item;
  }
}
