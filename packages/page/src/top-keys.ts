/** A frequent entry: counted at most `count` times, and at least `atLeast`. */
export interface Frequent<Item> {
  readonly item: Item;
  readonly count: number;
  readonly atLeast: number;
}

/** Entries that are always kept, of each period. */
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

  /** The most that an entry can have been counted which is not kept. */
  get missed(): number {
    return this.#periods.reduce((sum, { missed }) => sum + missed, 0);
  }

  /**
   * Counts an entry, and returns what is kept with it in this period.
   *
   * @param makeItem - Makes what is kept with a new entry.
   */
  add(id: string, makeItem: () => Item): Item {
    return (this.#periods[0] as Period<Item>).add(id, makeItem);
  }

  /** Begins a period, and forgets the oldest one. */
  turn(nowMs: number): void {
    this.#periods = [new Period(nowMs), ...this.#periods.slice(0, PERIODS - 1)];
  }

  /** All that is kept with an entry, of the present period first. */
  find(id: string): readonly Item[] {
    return this.#periods.flatMap(({ entries }) => entries.get(id)?.item ?? []);
  }

  /** All that are kept, in any order, by their ids. */
  items(): ReadonlyMap<string, Item> {
    return new Map(this.#periods.flatMap(({ entries }) => [...entries].map(([id, { item }]) => [id, item])));
  }

  /** All that are kept, the most frequent first. */
  ranked(): readonly Frequent<Item>[] {
    const all = [...this.items()].map(([id, item]) => {
      let [count, atLeast] = [0, 0];
      for (const { entries, missed } of this.#periods) {
        const entry = entries.get(id) ?? { count: missed, error: missed };
        count += entry.count;
        atLeast += entry.count - entry.error;
      }
      return { item, count, atLeast };
    });
    return all.toSorted((a, b) => b.atLeast - a.atLeast || b.count - a.count);
  }
}

/** Up to twice the capacity is kept, and then the more frequent half. An entry begins at the most that one can have had that was dropped. */
class Period<Item> {
  /** `error`: what the count can be too high by. */
  readonly entries = new Map<string, { readonly item: Item; count: number; readonly error: number }>();
  readonly sinceMs: number;
  missed = 0;

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
      this.missed = dropped[0]?.[1].count ?? 0;
    }
    const item = makeItem();
    this.entries.set(id, { item, count: this.missed + 1, error: this.missed });
    return item;
  }
}
