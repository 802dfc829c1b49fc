import { parseDuration } from '../../duration.ts';
import { PolicyError } from '../../errors.ts';
import { parseName } from '../../name.ts';
import { parseUnits } from '../../numbers.ts';
import type { PolicyBase } from '../algorithm.ts';

/**
 * A bucket of `capacity` units that gets `refill` of them back at once, every `everyMs`: what `tokenBucket` makes in
 * interval mode.
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
    ...(name === undefined ? {} : { name: parseName(name, 'name') }),
    capacity,
    refill,
    everyMs,
    overdraft,
  });
}
