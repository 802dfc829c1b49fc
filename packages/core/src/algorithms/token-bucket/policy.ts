import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError, shown } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { gcd, parseUnits, shareOf } from '../../values/numbers.ts';
import { checkOptions } from '../../values/check-options.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { parseIntervalBucket, type IntervalBucketPolicy } from '../interval-bucket/policy.ts';

/** A bucket of `capacity` units that is refilled steadily. */
export interface TokenBucketPolicy extends PolicyBase {
  readonly algorithm: 'tokenBucket';
  readonly capacity: number;
  readonly refill: number;
  readonly everyMs: number;
  readonly overdraft: number;
  /** `refill` per `everyMs` in lowest terms: `p` units per `q` milliseconds. */
  readonly p: number;
  readonly q: number;
}

export interface TokenBucketOptions {
  /** Units that the bucket holds, which is the largest burst: a whole number, at least 1. */
  capacity: number;
  /** Units that are refilled every `every`: a whole number, at least 1. */
  refill: number;
  every: Duration;
  /**
   * `continuous` (default) refills one unit after the other, evenly. `interval` refills `refill` units at once, every
   * `every` from the first unit on.
   */
  mode?: 'continuous' | 'interval';
  /**
   * Units by which the bucket may go below zero. A request is allowed if the bucket has at least one unit, and the debt
   * afterwards is not greater than this. Default 0.
   */
  overdraft?: number;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

const OPTIONS = {
  capacity: { placeholder: 'units', description: 'units that the bucket holds' },
  refill: { placeholder: 'units', description: 'units that come back every --every' },
  every: { placeholder: 'duration', description: 'how often --refill units come back' },
  mode: { placeholder: 'how', description: 'continuous (default), or interval: all --refill units at once' },
  overdraft: { placeholder: 'units', description: 'units that the bucket may go below zero (default 0)' },
};

/**
 * A bucket that holds `capacity` units and is refilled with `refill` units every `every`. Any interval of length d
 * contains at most `capacity + refill / every * d` units; in the mode `interval`,
 * `capacity + refill * (whole periods in d, plus one)`. `overdraft` adds its units. Counts are exact at every rate:
 * nothing is rounded.
 *
 * @throws PolicyError with the field, what was expected and what was given; also for numbers that together are too
 * large to be counted exactly.
 */
export function tokenBucket(options: TokenBucketOptions & { mode?: 'continuous' }): TokenBucketPolicy;
export function tokenBucket(options: TokenBucketOptions & { mode: 'interval' }): IntervalBucketPolicy;
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy | IntervalBucketPolicy;
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy | IntervalBucketPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'tokenBucket');
  const { mode = 'continuous' } = options;
  const common = {
    ...(options.name === undefined ? {} : { name: options.name }),
    capacity: options.capacity,
    refill: options.refill,
    everyMs: parseDuration(options.every, 'every'),
    overdraft: options.overdraft === undefined ? 0 : options.overdraft,
  };
  switch (mode) {
    case 'continuous':
      return parseTokenBucket({ algorithm: 'tokenBucket', ...common, p: 0, q: 0 });
    case 'interval':
      return parseIntervalBucket({ algorithm: 'intervalBucket', ...common });
    default:
      throw new PolicyError('mode', `mode must be "continuous" or "interval", got ${shown(mode)}`);
  }
}

export const tokenBucketFactory: Factory = { make: tokenBucket, options: OPTIONS };

export function parseTokenBucket(policy: TokenBucketPolicy): TokenBucketPolicy {
  const { name } = policy;
  const capacity = parseUnits(policy.capacity, 'capacity');
  const refill = parseUnits(policy.refill, 'refill');
  const everyMs = parseDuration(policy.everyMs, 'everyMs');
  const overdraft = parseUnits(policy.overdraft, 'overdraft', 0);
  const divisor = gcd(refill, everyMs);
  const [p, q] = [refill / divisor, everyMs / divisor];
  // Debt is counted in 1/p ms. Twice the largest debt must be an exact double.
  if (2 * (capacity + overdraft) * q >= 2 ** 53) {
    throw new PolicyError(
      'capacity',
      `capacity ${String(capacity)} (and overdraft ${String(overdraft)}) at ${String(p)} per ${String(q)} ms is too large to be counted exactly; at most ${String(Math.ceil(2 ** 52 / q) - 1)} together`,
    );
  }
  return Object.freeze({
    algorithm: 'tokenBucket',
    ...ownName(name),
    capacity,
    refill,
    everyMs,
    overdraft,
    p,
    q,
  });
}

/** The same units at a slower rate. That is exact; a share of `refill` is rarely a whole number. */
export function shareTokenBucket(policy: TokenBucketPolicy, share: number): TokenBucketPolicy {
  const { capacity, overdraft, everyMs } = policy;
  return parseTokenBucket({
    ...policy,
    capacity: shareOf(capacity, share),
    overdraft: Math.floor(overdraft * share),
    everyMs: Math.ceil(everyMs / share),
  });
}
