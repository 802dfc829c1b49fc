import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { parseName } from '../../values/name.ts';
import { LARGEST_LIMIT, parseUnits, shareOf } from '../../values/numbers.ts';
import { checkOptions } from '../../values/check-options.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units per window of the clock, and about as many in any other interval of `windowMs`. */
export interface SlidingCounterPolicy extends PolicyBase {
  readonly algorithm: 'slidingCounter';
  readonly limit: number;
  readonly windowMs: number;
}

export interface SlidingCounterOptions {
  /** Units per window: a whole number, at least 1. */
  limit: number;
  window: Duration;
  /** Stands in header fields and keys. Without it the policy takes its limiter's name. */
  name?: string;
}

const OPTIONS = {
  limit: LIMIT,
  window: WINDOW,
};

/**
 * Two windows on the clock, weighted: all units of the present one, and those of the one before in the proportion in which
 * an interval of one window's length still reaches into it, together are at most `limit`. That is an estimate, as if units
 * had come evenly: at most `limit` in every window on the clock, and up to `2 * limit - 1` in the worst interval of that
 * length; where that matters, use {@link slidingWindow}. Two counts per key, whatever the limit.
 *
 * @throws PolicyError naming the field, what was expected and what came; also when the numbers together are too large to
 * be weighed exactly.
 */
export function slidingCounter(options: SlidingCounterOptions): SlidingCounterPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'slidingCounter');
  return parseSlidingCounter({
    algorithm: 'slidingCounter',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
  });
}

export const slidingCounterFactory: Factory = { make: slidingCounter, options: OPTIONS };

export function parseSlidingCounter(policy: SlidingCounterPolicy): SlidingCounterPolicy {
  const { name } = policy;
  const limit = parseUnits(policy.limit, 'limit');
  const windowMs = parseDuration(policy.windowMs, 'windowMs');
  if (limit * windowMs >= 2 ** 53) {
    throw new PolicyError(
      'limit',
      `limit ${String(limit)} per ${String(windowMs)} ms is too large to be weighed exactly; at most ${String(mostUnits(windowMs))}, or a shorter window`,
    );
  }
  return Object.freeze({
    algorithm: 'slidingCounter',
    ...(name === undefined ? {} : { name: parseName(name, 'name') }),
    limit,
    windowMs,
  });
}

/** The most units of a window that can be weighed: times the window they are exact. No limit is larger. */
export function mostUnits(windowMs: number): number {
  return Math.min(Math.floor(Number.MAX_SAFE_INTEGER / windowMs), LARGEST_LIMIT);
}

export function shareSlidingCounter(policy: SlidingCounterPolicy, share: number): SlidingCounterPolicy {
  return parseSlidingCounter({ ...policy, limit: shareOf(policy.limit, share) });
}

export function writtenSlidingCounter(policy: SlidingCounterPolicy): string {
  return `slidingCounter ${perWindow(policy)}`;
}
