import { parseDuration, writtenDuration, type Duration } from '../../values/duration.ts';
import { PolicyError, shown } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import { checkOptions } from '../../values/check-options.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units in any interval of `windowMs`, counted in blocks of `precisionMs`. */
export interface SlidingWindowPolicy extends PolicyBase {
  readonly algorithm: 'slidingWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly precisionMs: number;
  /** Set where units are taken ahead and spent until their block ends. */
  readonly isLeased?: true;
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

const DEFAULT_BLOCKS = 10;
const MOST_BLOCKS = 100;

const OPTIONS = {
  limit: LIMIT,
  window: WINDOW,
  precision: {
    placeholder: 'duration',
    description: 'length of the blocks that are counted (default: a tenth of the window)',
  },
};

/**
 * Allows at most `limit` units in **any** interval as long as the window. The window is counted in clock-aligned
 * blocks. Units of the newest block are available again a window after the last of them, older ones at most one block
 * late (less than two if the default precision does not divide the window). A key that is quiet for a window is unused.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindowPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'slidingWindow');
  const windowMs = parseDuration(options.window, 'window');
  const precisionMs =
    options.precision === undefined
      ? Math.ceil(windowMs / DEFAULT_BLOCKS)
      : parseDuration(options.precision, 'precision');
  if (options.precision !== undefined && windowMs % precisionMs !== 0) {
    throw new PolicyError(
      'precision',
      `precision must divide the window of ${String(windowMs)} ms, got ${shown(options.precision)}; ${String(Math.ceil(windowMs / DEFAULT_BLOCKS))} is the default`,
    );
  }
  return parseSlidingWindow({
    algorithm: 'slidingWindow',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs,
    precisionMs,
  });
}

export const slidingWindowFactory: Factory = { make: slidingWindow, options: OPTIONS };

export function parseSlidingWindow(policy: SlidingWindowPolicy): SlidingWindowPolicy {
  const { name, limit, isLeased } = policy;
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
    ...(isLeased === true ? { isLeased } : {}),
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
