import { SpaceSaving, type Counted } from './space-saving.ts';

/** A frequent entry, as it is shown. */
export interface Frequent<Item> {
  readonly id: string;
  readonly item: Item;
  /** The best guess. */
  readonly count: number;
  readonly atLeast: number;
  readonly atMost: number;
}

/** Entries that are kept, of each period. */
const SLOTS = 1000;
/**
 * How many standard deviations of a sample the shown bounds are away, and what they are at least: a count within them is
 * missed once in some hundred million cases.
 */
const DEVIATIONS = 6;

interface Period<Item> {
  readonly counts: SpaceSaving<Item>;
  readonly sinceMs: number;
  /** The length of its longest row. */
  oneIn: number;
}

/**
 * The most frequent entries of the last two periods. Up to `mostPicks` a second are all counted; of more, one at random of each
 * `oneIn` in a row is, and counts for all of them. The bounds include what that and Space-Saving can be wrong by.
 */
export class TopKeys<Item> {
  #current: Period<Item>;
  #previous: Period<Item> | undefined;
  #oneIn = 1;
  /** That of the next row. */
  #wanted = 1;
  /** Until the pick of this row, and until its end. */
  #untilPick = 1;
  #untilEnd = 1;
  #picks = 0;
  readonly #mostPicks: number;
  readonly #random: () => number;

  /** @param mostPicks - Picks a second, beyond which only some are counted. */
  constructor(nowMs: number, mostPicks = 2000, random: () => number = Math.random) {
    this.#current = { counts: new SpaceSaving(SLOTS), sinceMs: nowMs, oneIn: 1 };
    this.#mostPicks = mostPicks;
    this.#random = random;
  }

  get sinceMs(): number {
    return (this.#previous ?? this.#current).sinceMs;
  }

  /** Of how many one is counted at present. */
  get oneIn(): number {
    return this.#oneIn;
  }

  /** Whether the next entry is counted, and with which weight; 0: it is not. Allocates nothing. */
  pick(): number {
    this.#untilEnd--;
    if (--this.#untilPick !== 0) {
      if (this.#untilEnd === 0) this.#beginRow();
      return 0;
    }
    const weight = this.#oneIn;
    this.#picks++;
    if (this.#untilEnd === 0) this.#beginRow();
    return weight;
  }

  add(id: string, weight: number, itemOf: () => Item): void {
    this.#current.counts.add(id, weight, itemOf);
  }

  /** Adapts to what came in the last second. To be called once a second. */
  tick(): void {
    const seen = this.#picks * this.#oneIn;
    this.#picks = 0;
    this.#wanted = Math.max(1, Math.ceil(seen / this.#mostPicks)); // of the next row: one that has begun keeps its weight
  }

  /** Forgets the period before the present one, which begins to be the earlier one. */
  turn(nowMs: number): void {
    this.#previous = this.#current;
    this.#current = { counts: new SpaceSaving(SLOTS), sinceMs: nowMs, oneIn: this.#oneIn };
  }

  /** All that are kept. */
  items(): readonly Item[] {
    return [this.#current, this.#previous].flatMap((period) => period?.counts.entries().map(({ item }) => item) ?? []);
  }

  /** The most frequent ones, the most frequent first. */
  top(most: number): readonly Frequent<Item>[] {
    return this.#ranked().slice(0, most);
  }

  /** The most that an entry can have been counted which is not among this many most frequent ones. */
  beyond(most: number): number {
    const unseen = this.#periods().reduce((sum, { counts, oneIn }) => sum + atMostOf(counts.missed, oneIn), 0);
    return this.#ranked().reduce((bound, { atMost }, i) => (i < most ? bound : Math.max(bound, atMost)), unseen);
  }

  #periods(): readonly Period<Item>[] {
    return [this.#current, ...(this.#previous === undefined ? [] : [this.#previous])];
  }

  #ranked(): readonly Frequent<Item>[] {
    const periods = this.#periods();
    const found = new Map<string, Counted<Item>>();
    for (const { counts } of periods)
      for (const one of counts.entries()) if (!found.has(one.id)) found.set(one.id, one);
    return [...found.values()]
      .map((one) => this.#frequent(one, periods))
      .toSorted((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  }

  #frequent({ id, item }: Counted<Item>, periods: readonly Period<Item>[]): Frequent<Item> {
    let [count, atLeast, atMost] = [0, 0, 0];
    for (const { counts, oneIn } of periods) {
      const one = counts.get(id);
      const most = one?.count ?? counts.missed;
      const least = one === undefined ? 0 : one.count - one.error;
      count += one?.count ?? 0;
      atLeast += Math.max(0, Math.floor(least - sampled(least, oneIn)));
      atMost += atMostOf(most, oneIn);
    }
    return { id, item, count, atLeast, atMost };
  }

  /** Ends a row: chooses the pick of the next one. A flood makes rows longer at once. */
  #beginRow(): void {
    if (this.#picks >= this.#mostPicks) {
      this.#picks = this.#mostPicks / 2;
      this.#wanted = this.#oneIn * 2;
    }
    this.#oneIn = this.#wanted;
    // Before anything of it is picked: the bounds hold for a row that has begun.
    if (this.#oneIn > this.#current.oneIn) this.#current.oneIn = this.#oneIn;
    this.#untilEnd = this.#oneIn;
    this.#untilPick = this.#oneIn === 1 ? 1 : 1 + Math.floor(this.#random() * this.#oneIn);
  }
}

function atMostOf(count: number, oneIn: number): number {
  return Math.ceil(count + sampled(count, oneIn));
}

/** How far a count of which one in `oneIn` was counted can be off: Bernstein's bound. */
function sampled(count: number, oneIn: number): number {
  if (oneIn === 1) return 0;
  return DEVIATIONS * Math.sqrt(count * (oneIn - 1)) + DEVIATIONS * DEVIATIONS * oneIn;
}
