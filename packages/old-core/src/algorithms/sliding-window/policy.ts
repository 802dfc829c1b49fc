import { parseDuration, writtenDuration, type Duration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units in any interval of `windowMs`, counted in blocks of `precisionMs`. */
export interface SlidingWindowPolicy extends PolicyBase {
  readonly algorithm: 'slidingWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly precisionMs: number;
}

export interface SlidingWindowOptions {
  /** Units in any interval as long as the window: a whole number; 0 denies every request. */
  limit: number;
  window: Duration;
  /**
   * Length of the blocks: it divides the window, into at most 100 blocks. Default: a tenth of the window, rounded up to
   * a millisecond.
   */
  precision?: Duration;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

/** Blocks of a window, unless its `precision` says otherwise. */
export const DEFAULT_BLOCKS = 10;
const MOST_BLOCKS = 100;

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
  precision: {
    placeholder: 'duration',
    description: 'length of the blocks that are counted (default: a tenth of the window)',
  },
};

export function parseSlidingWindow(policy: SlidingWindowPolicy): SlidingWindowPolicy {
  const { name, limit } = policy;
  const windowMs = parseDuration(policy.windowMs, 'windowMs');
  const precisionMs = parseDuration(policy.precisionMs, 'precisionMs');
  if (precisionMs > windowMs || windowMs > precisionMs * MOST_BLOCKS) {
    throw new PolicyError(
      'precision',
      `precision must be at least ${String(Math.ceil(windowMs / MOST_BLOCKS))} ms (a hundredth of the window) and at most the window, got ${String(precisionMs)} ms`,
    );
  }
  return Object.freeze({
    algorithm: 'slidingWindow',
    ...ownName(name),
    limit: parseUnits(limit, 'limit', 0),
    windowMs,
    precisionMs,
  });
}

/** The number of blocks before the current one that reach into the window. */
export function blocksOf({ windowMs, precisionMs }: SlidingWindowPolicy): number {
  return Math.ceil(windowMs / precisionMs);
}

export function writtenSlidingWindow(policy: SlidingWindowPolicy): string {
  const isDefault = policy.precisionMs === Math.ceil(policy.windowMs / DEFAULT_BLOCKS);
  return `slidingWindow ${perWindow(policy)}${isDefault ? '' : `, precision ${writtenDuration(policy.precisionMs)}`}`;
}
