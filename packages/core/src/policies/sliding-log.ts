import { slots } from '../program/slots.ts';
import type { Field, Options } from '../values/shape.ts';
import { units } from '../values/units.ts';
import { BLOCKING, makePolicy, MAX_ENTRIES, NAMED, register, WINDOW } from './rule.ts';
import type { Algorithm, WindowOptions, WindowPolicy } from './rule.ts';

/** `limit` units in any interval of `windowMs`; the time of each unit is stored. */
export interface SlidingLogPolicy extends WindowPolicy {
  readonly algorithm: 'slidingLog';
}

const INSTEAD = 'a slidingLog remembers every unit: use slidingWindow, which remembers a few numbers';

const ENTRIES = {
  /** Units in any interval as long as the window: a whole number from 0 to 1000; 0 denies every request. */
  limit: units(0, MAX_ENTRIES, INSTEAD) as Field<number>,
};

export interface SlidingLogOptions extends Omit<WindowOptions, 'limit'>, Options<typeof ENTRIES> {}

/**
 * Allows at most `limit` units in **any** interval of `window`, and never denies what fits: every unit is available
 * again exactly one window after it was consumed. The state stores when units were consumed, at most `limit` times;
 * denied units store nothing. {@link slidingWindow} has the same bound in constant memory, but returns units up to a
 * tenth of the window later.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingLog(options: SlidingLogOptions): SlidingLogPolicy {
  return makePolicy(algorithm, options);
}

const algorithm: Algorithm<SlidingLogPolicy> = /* @__PURE__ */ register<SlidingLogPolicy>(slidingLog, {
  name: 'slidingLog',
  kind: 'g',
  family: slots,
  shape: [WINDOW, ENTRIES, BLOCKING, NAMED],
  numbers: ({ limit, windowMs }) => [limit, 0, 0, windowMs],
});
