import { floorShare, shareOfMember, type Member } from './shares.ts';

/** The knowledge of this instance about one epoch. */
export interface KnownEpoch {
  /** When the next epoch began; `Infinity` for the latest epoch. */
  readonly untilMs: number;
  /** This instance's weight; 0 if it was not a member, or does not know. */
  readonly weight: number;
  /** The sum of all weights. */
  readonly total: number;
  readonly lightest: number;
  /** Absent where only the weights are kept: then shares are rounded down. */
  readonly members?: readonly Member[];
  /** Shares that have been computed, by the units of the whole. */
  readonly shares?: Map<number, number>;
}

const UNKNOWN: Omit<KnownEpoch, 'untilMs'> = { weight: 0, total: 1, lightest: 1 };

/** Epochs whose members are kept. More are needed only where members change all the time. */
const MOST_WITH_MEMBERS = 64;
const MOST = 1024;

/**
 * The epochs of a membership that one instance knows, oldest first and without gaps: the instance counts as no member
 * for any time it has no report of. Epochs are kept forever. Older ones are merged, and merging never makes a share
 * larger.
 */
export class KnownEpochs {
  readonly #id: string;
  #epochs: KnownEpoch[] = [{ ...UNKNOWN, untilMs: Infinity }];
  /** Grows with every change of the list. */
  version = 0;

  constructor(id: string) {
    this.#id = id;
  }

  get list(): readonly KnownEpoch[] {
    return this.#epochs;
  }

  /** The current epoch. */
  get latest(): KnownEpoch {
    return this.#epochs.at(-1) as KnownEpoch;
  }

  /** Forgets everything: nothing is known before this instant. */
  beginAt(fromMs: number): void {
    this.#epochs = [{ ...UNKNOWN, untilMs: fromMs }];
  }

  /** Adds the next epoch, which began at `fromMs`. */
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

  /** Makes this instance one of `instances` members with equal weights and unknown ids. */
  addEquals(instances: number): void {
    this.#epochs = [{ untilMs: Infinity, weight: 1, total: instances, lightest: 1 }];
    this.version++;
  }

  /** This instance's share of `units` in an epoch. */
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
    const agedIndex = length - 1 - MOST_WITH_MEMBERS;
    const aged = this.#epochs[agedIndex];
    if (aged?.members !== undefined) {
      const { untilMs, weight, total, lightest } = aged;
      this.#epochs[agedIndex] = { untilMs, weight, total, lightest };
    }
    if (length <= MOST) return;
    const merged: KnownEpoch[] = [];
    for (let i = 0; i < MOST / 2; i += 2)
      merged.push(mergeEpochs(this.#epochs[i] as KnownEpoch, this.#epochs[i + 1] as KnownEpoch));
    this.#epochs = [...merged, ...this.#epochs.slice(MOST / 2)];
  }
}

/** Merges two epochs into one that grants no more than either and lasts as long as both. */
function mergeEpochs(a: KnownEpoch, b: KnownEpoch): KnownEpoch {
  const smaller = isLess(a, b) ? a : b;
  const { weight, total } = smaller;
  return { untilMs: b.untilMs, weight, total, lightest: Math.min(a.lightest / a.total, b.lightest / b.total) * total };
}

/** Whether the weight of `a` is a smaller part of its total than that of `b`. */
export function isLess(a: Pick<KnownEpoch, 'weight' | 'total'>, b: Pick<KnownEpoch, 'weight' | 'total'>): boolean {
  return BigInt(a.weight) * BigInt(b.total) < BigInt(b.weight) * BigInt(a.total);
}
