import { counter } from '../program/counter.ts';
import { PolicyError } from '../errors.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, readOptions, type Field, type Options } from '../values/shape.ts';
import { MAX_LIMIT, units } from '../values/units.ts';
import { MAX_COUNT } from '../program/numbers.ts';
import {
  BLOCKING,
  commonFields,
  definePolicy,
  NAMED,
  register,
  shareUnits,
  type Algorithm,
  type BlockForOption,
  type NameOption,
  type PolicyBase,
} from './rule.ts';

/** `limit` units per clock-aligned window, and about as many in any other interval of `windowMs`. */
export interface SlidingCounterPolicy extends PolicyBase {
  readonly algorithm: 'slidingCounter';
  readonly limit: number;
  readonly windowMs: number;
}

const SLIDING_COUNTER = {
  /** Units per window: a whole number; 0 denies every request. */
  limit: units(0) as Field<number>,
  /** Length of the windows. */
  window: duration() as Field<Duration, number>,
};

export interface SlidingCounterOptions extends Options<typeof SLIDING_COUNTER>, BlockForOption, NameOption {}

/**
 * Estimates the units of the last `window` from two clock-aligned windows: all units of the current one, and the share
 * of the previous one that the interval still covers, as if its units had come evenly. The estimate is at most `limit`.
 * Every clock-aligned window contains at most `limit` units, and the worst interval of that length `2 * limit - 1`;
 * {@link slidingWindow} prevents that. The state is two counts per key.
 *
 * @throws PolicyError with the field, what was expected and what was given; also for numbers that together are too
 * large to be weighed exactly.
 */
export function slidingCounter(options: SlidingCounterOptions): SlidingCounterPolicy {
  const shape = { ...SLIDING_COUNTER, ...BLOCKING, ...NAMED };
  const { limit, window, ...common } = readOptions(options, shape, 'slidingCounter', 'SLUICE_POLICY_INVALID');
  const fields = { ...commonFields(common), limit, windowMs: window };
  return definePolicy(slidingCounterAlgorithm, { algorithm: 'slidingCounter', ...fields });
}

const slidingCounterAlgorithm: Algorithm<SlidingCounterPolicy> = /* @__PURE__ */ register({
  name: 'slidingCounter',
  kind: 'c',
  family: counter,
  make: slidingCounter,
  numbers({ limit, windowMs }) {
    // Units are weighed by milliseconds, and the products must be exact.
    const max = Math.min(Math.floor(Number.MAX_SAFE_INTEGER / windowMs), MAX_COUNT);
    if (limit > max) {
      const most = `at most ${String(Math.min(max, MAX_LIMIT))}, or a shorter window`;
      throw new PolicyError(
        'limit',
        `limit ${String(limit)} per ${String(windowMs)} ms is too large to be weighed exactly; ${most}`,
      );
    }
    return [limit, 0, 0, windowMs, max];
  },
  windowMs: ({ windowMs }) => windowMs,
  scale: ({ limit }, share) => ({ limit: shareUnits(limit, share) }),
  describe: ({ limit, windowMs }) => `slidingCounter ${String(limit)} per ${writeDuration(windowMs)}`,
});
