import { PolicyError } from '../errors.ts';
import { counter } from '../program/counter.ts';
import { MAX_COUNT } from '../program/numbers.ts';
import { MAX_LIMIT } from '../values/units.ts';
import { BLOCKING, makePolicy, NAMED, register, WINDOW } from './rule.ts';
import type { Algorithm, WindowOptions, WindowPolicy } from './rule.ts';

/** `limit` units per clock-aligned window, and about that many in any other interval of `windowMs`. */
export interface SlidingCounterPolicy extends WindowPolicy {
  readonly algorithm: 'slidingCounter';
}

export interface SlidingCounterOptions extends WindowOptions {}

/**
 * Estimates the units of the last `window` from two clock-aligned windows: all units of the current one, plus those of
 * the previous one in proportion to its overlap, as if they were spread evenly. Allows a request if the estimate stays
 * within `limit`. Every clock-aligned window contains at most `limit` units, and any interval of that length at most
 * `2 * limit - 1`; {@link slidingWindow} prevents that. The state is two counts per key.
 *
 * @throws PolicyError with the field, what was expected and what was given, also if the numbers together are too large
 * to be weighed exactly.
 */
export function slidingCounter(options: SlidingCounterOptions): SlidingCounterPolicy {
  return makePolicy(algorithm, options);
}

const algorithm: Algorithm<SlidingCounterPolicy> = /* @__PURE__ */ register<SlidingCounterPolicy>(slidingCounter, {
  name: 'slidingCounter',
  kind: 'c',
  family: counter,
  shape: [WINDOW, BLOCKING, NAMED],
  numbers({ limit, windowMs }) {
    // Units are weighed by milliseconds, and the products must be exact.
    const max = Math.min(Math.floor(Number.MAX_SAFE_INTEGER / windowMs), MAX_COUNT);
    if (limit <= max) return [limit, 0, 0, windowMs];
    const most = `at most ${String(Math.min(max, MAX_LIMIT))}, or a shorter window`;
    const given = `limit ${String(limit)} per ${String(windowMs)} ms`;
    throw new PolicyError('limit', `${given} is too large to be weighed exactly; ${most}`);
  },
});
