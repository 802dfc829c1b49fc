import type { Ask } from '../../stores/store.ts';
import type { MembershipClock } from '../membership/membership-clock.ts';
import type { Share } from './share.ts';

/** A key's units in one window, and the ask that last took some. */
interface Overlap {
  readonly ask: Ask;
  /** When the window ends by the membership's clock. */
  readonly endMs: number;
  units: number;
}

/**
 * The maximum number of keys: a flood of keys takes no more memory, and is denied until the window has certainly ended.
 */
const MAX_OVERLAPS = 10_000;

/**
 * What was allowed while a clock window may or may not have ended, because the membership's clock is only known as an
 * interval. These units count in that window and in the next, so no window of the true clock holds more than the share,
 * and an uncertain clock alone denies no request.
 */
export class Overlaps {
  readonly #clock: MembershipClock;
  readonly #overlaps = new Map<string, Overlap>();

  constructor(clock: MembershipClock) {
    this.#clock = clock;
  }

  /**
   * Units that a key may take in addition to those already counted in the next window; unlimited if that window has
   * certainly not begun.
   */
  leftInNext(key: string, share: Share): number {
    if (!this.#mayHaveEnded(share)) return Infinity;
    const overlap = this.#overlaps.get(place(key, share.untilMs));
    if (overlap === undefined) return this.#overlaps.size < MAX_OVERLAPS ? share.next : 0;
    return Math.max(share.next - overlap.units, 0);
  }

  /** Adds units that were taken now. */
  add(ask: Ask, share: Share): void {
    if (ask.cost === 0 || !this.#mayHaveEnded(share)) return;
    const { key, cost } = ask;
    const { units } = this.#overlaps.get(place(key, share.untilMs)) ?? { units: 0 };
    this.#overlaps.set(place(key, share.untilMs), { ask, endMs: share.untilMs, units: units + cost });
  }

  /** Refunds units that were taken while the window may have ended, or charges them again. */
  change(key: string, endMs: number, units: number): void {
    const overlap = this.#overlaps.get(place(key, endMs));
    if (overlap !== undefined) overlap.units = Math.max(overlap.units + units, 0);
  }

  forget(key: string): void {
    for (const [at, { ask }] of this.#overlaps) if (ask.key === key) this.#overlaps.delete(at);
  }

  /** Removes and returns the units of windows that have certainly ended. */
  drain(): readonly Overlap[] {
    if (this.#overlaps.size === 0) return [];
    const ended = [...this.#overlaps].filter(([, { endMs }]) => endMs <= this.#clock.earliestMs);
    for (const [at] of ended) this.#overlaps.delete(at);
    return ended.map(([, overlap]) => overlap);
  }

  #mayHaveEnded({ windowMs, untilMs }: Share): boolean {
    return windowMs !== undefined && this.#clock.latestMs >= untilMs;
  }
}

function place(key: string, endMs: number): string {
  return `${String(endMs)} ${key}`;
}
