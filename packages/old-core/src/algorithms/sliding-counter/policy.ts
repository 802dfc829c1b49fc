import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { LARGEST_LIMIT, parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units per clock-aligned window, and about as many in any other interval of `windowMs`. */
export interface SlidingCounterPolicy extends PolicyBase {
  readonly algorithm: 'slidingCounter';
  readonly limit: number;
  readonly windowMs: number;
}

export interface SlidingCounterOptions {
  /** Units per window: a whole number; 0 denies every request. */
  limit: number;
  window: Duration;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
};

export function parseSlidingCounter(policy: SlidingCounterPolicy): SlidingCounterPolicy {
  const { name } = policy;
  const limit = parseUnits(policy.limit, 'limit', 0);
  const windowMs = parseDuration(policy.windowMs, 'windowMs');
  if (limit * windowMs >= 2 ** 53) {
    throw new PolicyError(
      'limit',
      `limit ${String(limit)} per ${String(windowMs)} ms is too large to be weighed exactly; at most ${String(mostUnits(windowMs))}, or a shorter window`,
    );
  }
  return Object.freeze({
    algorithm: 'slidingCounter',
    ...ownName(name),
    limit,
    windowMs,
  });
}

/** The most units of a window whose product with the window is exact. No limit is larger. */
export function mostUnits(windowMs: number): number {
  return Math.min(Math.floor(Number.MAX_SAFE_INTEGER / windowMs), LARGEST_LIMIT);
}

export function writtenSlidingCounter(policy: SlidingCounterPolicy): string {
  return `slidingCounter ${perWindow(policy)}`;
}
