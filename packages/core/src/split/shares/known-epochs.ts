import type { Members } from '../membership/membership.ts';
import { getFlooredShare, getMemberShare, type Member } from './largest-remainder.ts';

/** What this instance knows of one epoch. */
export interface KnownEpoch {
  /** When the next epoch began; `Infinity` for the latest epoch. */
  readonly untilMs: number;
  /** This instance's weight; 0 if it was not a member, or if that is unknown. */
  readonly weight: number;
  /** The sum of all weights. */
  readonly total: number;
  readonly lightest: number;
  /** Absent if others may have known different members meanwhile. */
  readonly members?: readonly Member[];
  /** Computed shares, by the units of the whole limit. */
  readonly shares: Map<number, number>;
}

/** More are needed only if members change all the time. */
const MAX_EPOCHS = 128;

/**
 * The epochs of a membership that one instance knows, oldest first and without gaps: the instance counts as absent for
 * any time that it knows nothing about. Epochs are kept forever. The oldest are merged, which never makes a share
 * larger.
 *
 * While all instances know all epochs, each takes the smallest of its shares by largest remainder, and these add up to
 * no more than those of any single epoch. An instance that has missed epochs rounds its shares down as long as those
 * epochs count: all instances with a share were members in each of them, so their exact parts add up to less than the
 * whole.
 */
export class KnownEpochs {
  readonly #id: string;
  #epochs: KnownEpoch[] = [];

  constructor(id: string) {
    this.#id = id;
    this.beginAt(Infinity);
  }

  get list(): readonly KnownEpoch[] {
    return this.#epochs;
  }

  /** Forgets everything before this instant. */
  beginAt(fromMs: number): void {
    this.#epochs = [{ weight: 0, total: 1, lightest: 1, members: [], shares: new Map(), untilMs: fromMs }];
  }

  /**
   * Adds the next epoch, which began at `fromMs`.
   *
   * @param hasMissed - Whether epochs between it and the last one were missed.
   */
  add(fromMs: number, members: Members, hasMissed: boolean): void {
    const { members: before, ...last } = this.#epochs.pop() as KnownEpoch;
    const exact = before === undefined || hasMissed ? {} : { members: before };
    this.#epochs.push({ ...last, ...exact, untilMs: Math.min(last.untilMs, fromMs) });
    const list = Object.entries(members);
    const weights = list.map(([, weight]) => weight);
    const weight = list.find(([id]) => id === this.#id)?.[1] ?? 0;
    const total = weights.reduce((sum, each) => sum + each, 0) || 1;
    const known = { weight, total, lightest: Math.min(...weights, total), members: list };
    this.#epochs.push({ ...known, shares: new Map(), untilMs: Infinity });
    if (this.#epochs.length > MAX_EPOCHS) this.#mergeOldest();
  }

  /** Merges two epochs into one that grants no more than either and lasts as long as both. */
  #mergeOldest(): void {
    const [a, b, ...later] = this.#epochs as [KnownEpoch, KnownEpoch, ...KnownEpoch[]];
    const { weight, total } = isLess(a, b) ? a : b;
    const lightest = Math.min(a.lightest / a.total, b.lightest / b.total) * total;
    this.#epochs = [{ untilMs: b.untilMs, weight, total, lightest, shares: new Map() }, ...later];
  }

  /** This instance's shares of `units` in epochs that count at the same time. */
  readShares(units: number, epochs: readonly KnownEpoch[]): readonly number[] {
    const isExact = epochs.every(({ members }) => members !== undefined);
    return epochs.map(({ weight, total, members = [], shares }) => {
      if (!isExact) return getFlooredShare(units, weight, total);
      if (weight === 0) return 0;
      const share = shares.get(units) ?? getMemberShare(units, members, this.#id);
      shares.set(units, share);
      return share;
    });
  }
}

/** Whether the weight of `a` is a smaller part of its total than that of `b`. */
export function isLess(a: Pick<KnownEpoch, 'weight' | 'total'>, b: Pick<KnownEpoch, 'weight' | 'total'>): boolean {
  return BigInt(a.weight) * BigInt(b.total) < BigInt(b.weight) * BigInt(a.total);
}
