import { PolicyError } from '../errors.ts';
import { debt } from '../program/debt.ts';
import { LINE } from '../program/numbers.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, type Field, type Options } from '../values/shape.ts';
import { MAX_LIMIT, units } from '../values/units.ts';
import { describeWindow, gcd, makePolicy, NAMED, register, getTimeShare } from './rule.ts';
import type { Algorithm, NamedOptions, WindowPolicy } from './rule.ts';

/** `limit` starts per window, evenly spaced. A request that would wait longer than `maxDelayMs` is denied. */
export interface LeakyBucketPolicy extends WindowPolicy {
  readonly algorithm: 'leakyBucket';
  readonly maxDelayMs: number;
}

const LEAKY_BUCKET = {
  /** Units that start per window, one by one, evenly spaced: a whole number, at least 1. */
  limit: units(1) as Field<number>,
  /** The time in which `limit` units start. */
  window: duration() as Field<Duration, number>,
  /** The longest that a unit may wait for its start. `0` denies every request that would have to wait. */
  maxDelay: duration(0) as Field<Duration, number>,
};

export interface LeakyBucketOptions extends Options<typeof LEAKY_BUCKET>, NamedOptions {}

/**
 * Paces requests: units start at least `window / limit` apart, first come first served. The decision's `delayMs` is the
 * wait until its first unit starts; nothing is paced unless the caller waits. A request whose last unit would start
 * after `maxDelay` is denied, and reserves nothing. The decision's `limit` is the number of units that an unused key
 * allows at once: those that start within `maxDelay`, the first immediately.
 *
 * @throws PolicyError with the field, what was expected and what was given, also if the numbers together are too large
 * to be counted exactly.
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  return makePolicy(algorithm, options);
}

const algorithm: Algorithm<LeakyBucketPolicy> = /* @__PURE__ */ register<LeakyBucketPolicy>(leakyBucket, {
  name: 'leakyBucket',
  kind: 'l',
  family: debt,
  shape: [LEAKY_BUCKET, NAMED],
  numbers({ limit, windowMs, maxDelayMs }) {
    const divisor = gcd(limit, windowMs);
    const [perMs, perUnit] = [limit / divisor, windowMs / divisor];
    const atOnce = Math.floor((maxDelayMs * perMs) / perUnit) + 1;
    // The longest wait plus as many units again, counted in parts (perMs per millisecond), must be exact.
    if (maxDelayMs * perMs + 2 * perUnit * atOnce < 2 ** 53 && atOnce <= MAX_LIMIT) {
      return [atOnce, 0, LINE, perMs, perUnit, maxDelayMs * perMs + perUnit];
    }
    const max = Math.floor(Math.min((2 ** 53 - 1 - 2 * perUnit) / 3, (MAX_LIMIT - 1) * perUnit) / perMs);
    const given = `maxDelay ${String(maxDelayMs)} ms at ${String(perMs)} per ${String(perUnit)} ms`;
    const message = `${given} is too large to be counted exactly; at most ${String(max)} ms`;
    throw new PolicyError('maxDelay', message);
  },
  // The same units at a slower pace: this is exact, while a share of `limit` is rarely a whole number.
  scale: ({ windowMs }, share) => ({ windowMs: getTimeShare(windowMs, share, 'window') }),
  describe: (policy) => `${describeWindow(policy)}, max delay ${writeDuration(policy.maxDelayMs)}`,
});
