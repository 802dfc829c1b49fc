import type { Members } from '../membership/membership.ts';
import { floorShare, shareOfMember, type Member } from './largest-remainder.ts';

/** What this instance knows of one epoch. */
export interface KnownEpoch {
  /** When the next epoch began; `Infinity` for the latest epoch. */
  readonly untilMs: number;
  /** This instance's weight; 0 if it was not a member, or does not know. */
  readonly weight: number;
  /** The sum of all weights. */
  readonly total: number;
  readonly lightest: number;
  /** Absent in merged epochs: then shares are rounded down. */
  readonly members?: readonly Member[];
  /** Shares that have been computed, by the units of the whole. */
  readonly shares?: Map<number, number>;
}

const UNKNOWN: Omit<KnownEpoch, 'untilMs'> = { weight: 0, total: 1, lightest: 1 };

/** More are needed only if members change all the time. */
const MAX_EPOCHS = 128;

/**
 * The epochs of a membership that one instance knows, oldest first and without gaps: the instance counts as no member
 * for any time it has no report of. Epochs are kept forever. Older ones are merged, and merging never makes a share
 * larger.
 */
export class KnownEpochs {
  readonly #id: string;
  #epochs: KnownEpoch[] = [{ ...UNKNOWN, untilMs: Infinity }];

  constructor(id: string) {
    this.#id = id;
  }

  get list(): readonly KnownEpoch[] {
    return this.#epochs;
  }

  /** Forgets everything: nothing is known before this instant. */
  beginAt(fromMs: number): void {
    this.#epochs = [{ ...UNKNOWN, untilMs: fromMs }];
  }

  /** Adds the next epoch, which began at `fromMs`. */
  add(fromMs: number, members: Members): void {
    const last = this.#epochs.pop() as KnownEpoch;
    this.#epochs.push({ ...last, untilMs: Math.min(last.untilMs, fromMs) });
    const list = Object.entries(members);
    const weights = list.map(([, weight]) => weight);
    const weight = list.find(([id]) => id === this.#id)?.[1] ?? 0;
    const total = weights.reduce((sum, each) => sum + each, 0);
    const lightest = weights.reduce((least, each) => Math.min(least, each), Infinity);
    const known = list.length === 0 ? UNKNOWN : { weight, total, lightest, members: list, shares: new Map() };
    this.#epochs.push({ ...known, untilMs: Infinity });
    this.#coarsen();
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

  #coarsen(): void {
    const half = MAX_EPOCHS / 2;
    if (this.#epochs.length <= MAX_EPOCHS) return;
    const merged: KnownEpoch[] = [];
    for (let i = 0; i < half; i += 2)
      merged.push(mergeEpochs(this.#epochs[i] as KnownEpoch, this.#epochs[i + 1] as KnownEpoch));
    this.#epochs = [...merged, ...this.#epochs.slice(half)];
  }
}

/** Merges two epochs into one that grants no more than either and lasts as long as both. */
function mergeEpochs(a: KnownEpoch, b: KnownEpoch): KnownEpoch {
  const { weight, total } = isLess(a, b) ? a : b;
  return { untilMs: b.untilMs, weight, total, lightest: Math.min(a.lightest / a.total, b.lightest / b.total) * total };
}

/** Whether the weight of `a` is a smaller part of its total than that of `b`. */
export function isLess(a: Pick<KnownEpoch, 'weight' | 'total'>, b: Pick<KnownEpoch, 'weight' | 'total'>): boolean {
  return BigInt(a.weight) * BigInt(b.total) < BigInt(b.weight) * BigInt(a.total);
}
