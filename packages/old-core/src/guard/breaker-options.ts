import type { BreakerOptions } from '../engine/store.ts';
import { LONGEST_TIMER_MS } from '../platform/clock.ts';
import { readInner, wholeNumber, type OptionTable } from '../values/option.ts';

const upToTimer = (least: number): string => `a whole number from ${String(least)} to ${String(LONGEST_TIMER_MS)}`;

const BREAKER: OptionTable<Required<BreakerOptions>> = {
  failures: /* @__PURE__ */ wholeNumber(1, LONGEST_TIMER_MS, /* @__PURE__ */ upToTimer(1), 5),
  probeEveryMs: /* @__PURE__ */ wholeNumber(10, LONGEST_TIMER_MS, /* @__PURE__ */ upToTimer(10), 500),
};

/**
 * Checks the option `breaker` of a store.
 *
 * @throws PolicyError for anything but false and numbers of milliseconds that a timer can wait.
 */
export function parseBreaker(given: unknown = {}, name = 'breaker'): BreakerOptions | false {
  return given === false ? false : readInner(given, BREAKER, name);
}
