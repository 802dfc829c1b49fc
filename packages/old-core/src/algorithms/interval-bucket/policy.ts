import { parseDuration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits, shareOf } from '../../values/numbers.ts';
import type { PolicyBase } from '../algorithm.ts';

/**
 * A bucket of `capacity` units that is refilled with `refill` units at once, every `everyMs`: the policy of
 * `tokenBucket` in interval mode.
 */
export interface IntervalBucketPolicy extends PolicyBase {
  readonly algorithm: 'intervalBucket';
  readonly capacity: number;
  readonly refill: number;
  readonly everyMs: number;
  readonly overdraft: number;
}

export function parseIntervalBucket(policy: IntervalBucketPolicy): IntervalBucketPolicy {
  const { name } = policy;
  const capacity = parseUnits(policy.capacity, 'capacity');
  const refill = parseUnits(policy.refill, 'refill');
  const everyMs = parseDuration(policy.everyMs, 'everyMs');
  const overdraft = parseUnits(policy.overdraft, 'overdraft', 0);
  if (2 * Math.ceil((capacity + overdraft) / refill) * everyMs >= 2 ** 53) {
    throw new PolicyError(
      'capacity',
      `capacity ${String(capacity)} (and overdraft ${String(overdraft)}) at ${String(refill)} per ${String(everyMs)} ms takes too long to fill to be counted exactly`,
    );
  }
  return Object.freeze({
    algorithm: 'intervalBucket',
    ...ownName(name),
    capacity,
    refill,
    everyMs,
    overdraft,
  });
}

/** A share of each refill or, if that is less than a unit, refills of one unit at a slower rate. */
export function shareIntervalBucket(policy: IntervalBucketPolicy, share: number): IntervalBucketPolicy {
  const { capacity, refill, everyMs, overdraft } = policy;
  return parseIntervalBucket({
    ...policy,
    capacity: shareOf(capacity, share),
    refill: shareOf(refill, share),
    everyMs: Math.ceil(everyMs / Math.min(refill * share, 1)),
    overdraft: Math.floor(overdraft * share),
  });
}
