import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { gcd, parseUnits, shareOf } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';

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

export const OPTIONS: Factory['options'] = {
  capacity: { placeholder: 'units', description: 'units that the bucket holds' },
  refill: { placeholder: 'units', description: 'units that come back every --every' },
  every: { placeholder: 'duration', description: 'how often --refill units come back' },
  mode: { placeholder: 'how', description: 'continuous (default), or interval: all --refill units at once' },
  overdraft: { placeholder: 'units', description: 'units that the bucket may go below zero (default 0)' },
};

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
