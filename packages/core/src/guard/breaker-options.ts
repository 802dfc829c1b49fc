import type { BreakerOptions } from '../engine/store.ts';
import { PolicyError, shown } from '../errors.ts';
import { checkOptions } from '../values/check-options.ts';
import { LONGEST_TIMER_MS } from '../platform/clock.ts';

/**
 * Checks the option `breaker` of a store.
 *
 * @throws PolicyError for anything but false and numbers of milliseconds that a timer can wait.
 */
export function parseBreaker(given: unknown = {}): BreakerOptions | false {
  if (given === false) return false;
  checkOptions(given, ['failures', 'probeEveryMs'], 'breaker');
  const { failures = 5, probeEveryMs = 500 } = given as BreakerOptions;
  for (const [field, value, least] of [
    ['breaker.failures', failures, 1],
    ['breaker.probeEveryMs', probeEveryMs, 10],
  ] as const) {
    if (Number.isInteger(value) && value >= least && value <= LONGEST_TIMER_MS) continue;
    throw new PolicyError(
      field,
      `${field} must be a whole number from ${String(least)} to ${String(LONGEST_TIMER_MS)}, got ${shown(value)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { failures, probeEveryMs };
}
