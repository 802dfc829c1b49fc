import { floorShare, shareOfMember, type Member } from './shares.ts';

/** What this instance knows of one epoch. */
export interface KnownEpoch {
  /** When the next one began; `Infinity` while none has. */
  readonly untilMs: number;
  /** This instance's weight; 0 when it was no member, or does not know. */
  readonly weight: number;
  /** The weight of all members. */
  readonly total: number;
  readonly lightest: number;
  /** Left out where only the weights are known any more: shares are rounded down then. */
  readonly members?: readonly Member[];
  /** The shares that were asked for, by their units. */
  readonly shares?: Map<number, number>;
}

const UNKNOWN: Omit<KnownEpoch, 'untilMs'> = { weight: 0, total: 1, lightest: 1 };

/** Epochs whose members are remembered: more are needed only where members come and go all the time. */
const MOST_WITH_MEMBERS = 64;
const MOST = 1024;

/**
 * The epochs of a membership, as far as one instance was told, oldest first: without gaps, for of what it was not told
 * it was no member. They are kept for good, the older the coarser, and never to the good of this instance.
 */
export class KnownEpochs {
  readonly #id: string;
  #epochs: KnownEpoch[] = [{ ...UNKNOWN, untilMs: Infinity }];
  /** Counts the changes of what is known. */
  version = 0;

  constructor(id: string) {
    this.#id = id;
  }

  get list(): readonly KnownEpoch[] {
    return this.#epochs;
  }

  /** The present one. */
  get latest(): KnownEpoch {
    return this.#epochs.at(-1) as KnownEpoch;
  }

  /** Nothing is known before this instant. */
  beginAt(fromMs: number): void {
    this.#epochs = [{ ...UNKNOWN, untilMs: fromMs }];
  }

  /** The next epoch, which began then. */
  add(fromMs: number, members: Readonly<Record<string, number>>): void {
    const list: readonly Member[] = Object.entries(members);
    let [total, lightest, weight] = [0, Infinity, 0];
    for (const [id, share] of list) {
      total += share;
      lightest = Math.min(lightest, share);
      if (id === this.#id) weight = share;
    }
    this.#end(fromMs);
    this.#epochs.push(
      list.length === 0
        ? { ...UNKNOWN, untilMs: Infinity }
        : { untilMs: Infinity, weight, total, lightest, members: list, shares: new Map() },
    );
    this.#coarsen();
  }

  /** One of so many equals, whoever they are. */
  addEquals(instances: number): void {
    this.#epochs = [{ untilMs: Infinity, weight: 1, total: instances, lightest: 1 }];
    this.version++;
  }

  /** This instance's share of so many units in an epoch. */
  shareOf(units: number, { weight, total, members, shares }: KnownEpoch): number {
    if (weight === 0) return 0;
    if (members === undefined) return floorShare(units, weight, total);
    let share = shares?.get(units);
    if (share === undefined) {
      share = shareOfMember(units, members, this.#id);
      shares?.set(units, share);
    }
    return share;
  }

  #end(untilMs: number): void {
    const last = this.#epochs.pop();
    if (last !== undefined) this.#epochs.push({ ...last, untilMs: Math.min(last.untilMs, untilMs) });
    this.version++;
  }

  #coarsen(): void {
    const { length } = this.#epochs;
    const place = length - 1 - MOST_WITH_MEMBERS;
    const aged = this.#epochs[place];
    if (aged?.members !== undefined) {
      const { untilMs, weight, total, lightest } = aged;
      this.#epochs[place] = { untilMs, weight, total, lightest };
    }
    if (length <= MOST) return;
    const merged: KnownEpoch[] = [];
    for (let i = 0; i < MOST / 2; i += 2)
      merged.push(both(this.#epochs[i] as KnownEpoch, this.#epochs[i + 1] as KnownEpoch));
    this.#epochs = [...merged, ...this.#epochs.slice(MOST / 2)];
  }
}

/** Two epochs as one that grants no more than either, and waits for as long as both. */
function both(a: KnownEpoch, b: KnownEpoch): KnownEpoch {
  const smaller = isLess(a, b) ? a : b;
  const { weight, total } = smaller;
  return { untilMs: b.untilMs, weight, total, lightest: Math.min(a.lightest / a.total, b.lightest / b.total) * total };
}

/** Whether the weight is a smaller part of the total. */
export function isLess(a: Pick<KnownEpoch, 'weight' | 'total'>, b: Pick<KnownEpoch, 'weight' | 'total'>): boolean {
  return BigInt(a.weight) * BigInt(b.total) < BigInt(b.weight) * BigInt(a.total);
}
