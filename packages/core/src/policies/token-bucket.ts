import { PolicyError } from '../errors.ts';
import { debt } from '../program/debt.ts';
import { interval } from '../program/interval.ts';
import { MAX_DURATION_MS, writeDuration, type Duration } from '../values/duration.ts';
import { duration, oneOf, withDefault, type Field, type Options, type WithDefault } from '../values/shape.ts';
import { MAX_LIMIT, units } from '../values/units.ts';
import { BLOCKING, gcd, makePolicy, NAMED, register, multiplyDown, getTimeShare, getUnitShare } from './rule.ts';
import type { Algorithm, BlockingOptions, PolicyBase, Share } from './rule.ts';

interface Bucket extends PolicyBase {
  readonly capacity: number;
  readonly refill: number;
  readonly everyMs: number;
  readonly overdraft: number;
}

/** A bucket of `capacity` units that is refilled steadily, with `refill` units in `everyMs`. */
export interface TokenBucketPolicy extends Bucket {
  readonly algorithm: 'tokenBucket';
}

/** A bucket of `capacity` units that is refilled with `refill` units at once, every `everyMs`. */
export interface IntervalBucketPolicy extends Bucket {
  readonly algorithm: 'intervalBucket';
}

const TOKEN_BUCKET = {
  /** Units that the bucket holds, which is the largest burst: a whole number, at least 1. */
  capacity: units(1) as Field<number>,
  /** Units added per `every`: a whole number, at least 1. */
  refill: units(1) as Field<number>,
  /** The time in which `refill` units are added. */
  every: duration() as Field<Duration, number>,
  /**
   * `continuous` adds units one by one, evenly. `interval` adds `refill` units at once, every `every` from the first
   * unit on. Default `continuous`.
   */
  mode: withDefault(oneOf(['continuous', 'interval']), 'continuous') as WithDefault<'continuous' | 'interval'>,
  /**
   * How many units the bucket may go below zero. A request is allowed if the bucket has at least one unit and the debt
   * afterwards does not exceed this. Default 0.
   */
  overdraft: withDefault(units(0), 0) as WithDefault<number>,
};

export interface TokenBucketOptions extends Options<typeof TOKEN_BUCKET>, BlockingOptions {}

/**
 * A bucket that holds `capacity` units and gains `refill` units per `every`. Any interval of length d contains at most
 * `capacity + refill / every * d` units; with `mode: 'interval'`, at most
 * `capacity + refill * (whole periods in d, plus one)`. `overdraft` adds its units. Counts are exact at every rate:
 * nothing is rounded.
 *
 * @throws PolicyError with the field, what was expected and what was given, also if the numbers together are too large
 * to be counted exactly.
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy | IntervalBucketPolicy {
  const { mode } = (options as TokenBucketOptions | undefined) ?? {};
  return mode === 'interval' ? makePolicy(intervalBucket, options) : makePolicy(evenBucket, options);
}

/** The mode determines the kind of the policy. */
function dropMode<P>({ mode: _, ...fields }: Partial<P> & { readonly mode?: unknown }): Partial<P> {
  return fields as Partial<P>;
}

/** @throws PolicyError for numbers that are too large together, with the largest that would be accepted. */
function makeTooLargeError({ capacity, overdraft, refill, everyMs }: Bucket, max: number): PolicyError {
  const bucket = `capacity ${String(capacity)} (and overdraft ${String(overdraft)})`;
  const rate = `at ${String(refill)} per ${String(everyMs)} ms`;
  const message = `${bucket} ${rate} is too large to be counted exactly; at most ${String(max)} together`;
  return new PolicyError('capacity', message);
}

function describe({ capacity, refill, everyMs, overdraft }: Bucket): string {
  const rate = `tokenBucket ${String(capacity)}, ${String(refill)} per ${writeDuration(everyMs)}`;
  return overdraft === 0 ? rate : `${rate}, overdraft ${String(overdraft)}`;
}

const evenBucket: Algorithm<TokenBucketPolicy> = /* @__PURE__ */ register<TokenBucketPolicy>(tokenBucket, {
  name: 'tokenBucket',
  kind: 't',
  family: debt,
  shape: [TOKEN_BUCKET, BLOCKING, NAMED],
  complete: dropMode,
  numbers(policy) {
    const { capacity, overdraft, refill, everyMs } = policy;
    const divisor = gcd(refill, everyMs);
    const [perMs, perUnit] = [refill / divisor, everyMs / divisor];
    if (capacity + overdraft > getMaxUnits(policy)) throw makeTooLargeError(policy, getMaxUnits(policy));
    return [capacity, overdraft, 0, perMs, perUnit, capacity * perUnit];
  },
  windowMs: ({ capacity, refill, everyMs }) => {
    const divisor = gcd(refill, everyMs);
    return Math.ceil((capacity * (everyMs / divisor)) / (refill / divisor));
  },
  scale(policy, share) {
    if (typeof share === 'object' && share.units === 0) return { capacity: 0, overdraft: 0 };
    const capacity = getUnitShare(policy.capacity, share);
    const overdraft = multiplyDown(policy.overdraft, share);
    // The same units at a slower pace, because a share of `refill` is rarely a whole number.
    const slower = (): Pick<Bucket, 'everyMs'> => ({ everyMs: getTimeShare(policy.everyMs, share, 'every') });
    return { capacity, overdraft, ...(computeRate(policy, share, capacity + overdraft) ?? slower()) };
  },
  describe,
});

/** The maximum units: twice as many are still an exact debt, counted in parts (`everyMs` per unit, in lowest terms). */
function getMaxUnits({ refill, everyMs }: Pick<Bucket, 'refill' | 'everyMs'>): number {
  return Math.ceil((2 ** 52 * gcd(refill, everyMs)) / everyMs) - 1;
}

/** The rate of a share as a fraction in lowest terms; undefined if its numbers are too large. */
function computeRate(whole: Bucket, share: Share, units: number): Pick<Bucket, 'refill' | 'everyMs'> | undefined {
  if (typeof share === 'number') return undefined;
  const [all, part] = [BigInt(whole.everyMs) * BigInt(share.total), BigInt(whole.refill) * BigInt(share.weight)];
  let [a, b] = [part, all];
  while (b !== 0n) [a, b] = [b, a % b];
  const rate = { refill: Number(part / a), everyMs: Number(all / a) };
  const isCountable = rate.refill <= MAX_LIMIT && rate.everyMs <= MAX_DURATION_MS && units <= getMaxUnits(rate);
  return isCountable ? rate : undefined;
}

const intervalBucket: Algorithm<IntervalBucketPolicy> = /* @__PURE__ */ register<IntervalBucketPolicy>(tokenBucket, {
  name: 'intervalBucket',
  kind: 'i',
  family: interval,
  shape: [TOKEN_BUCKET, BLOCKING, NAMED],
  maker: 'tokenBucket',
  complete: dropMode,
  numbers(policy) {
    const { capacity, overdraft, refill, everyMs } = policy;
    // Twice the time to fill the bucket must be exact.
    const max = Math.floor((2 ** 52 - 1) / everyMs) * refill;
    if (capacity + overdraft > max) throw makeTooLargeError(policy, max);
    return [capacity, overdraft, 0, refill, everyMs];
  },
  windowMs: ({ capacity, refill, everyMs }) => Math.ceil(capacity / refill) * everyMs,
  /** A share of each refill or, if that is less than a unit, refills of one unit at a slower pace. */
  scale({ capacity, refill, everyMs, overdraft }, share) {
    const fraction = typeof share === 'number' ? share : share.weight / share.total;
    return {
      capacity: getUnitShare(capacity, share),
      refill: getUnitShare(refill, fraction),
      everyMs: getTimeShare(everyMs, Math.min(refill * fraction, 1), 'every'),
      overdraft: multiplyDown(overdraft, share),
    };
  },
  describe: (policy) => `${describe(policy)}, mode interval`,
});
