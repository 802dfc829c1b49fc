import { PolicyError, shown } from '../../errors.ts';
import type { Lease } from '../algorithm.ts';
import { parseTokenBucket, type TokenBucketPolicy } from './policy.ts';

/**
 * A slice is held while the bucket refills, so that the bucket is smaller by as much: then both keep to its capacity.
 */
export const leaseTokenBucket: Lease<TokenBucketPolicy> = {
  counted: smallerBucket,
  spentByMs: () => Infinity,
  refilledIn,
};

function smallerBucket(policy: TokenBucketPolicy, name: string, maxAgeMs: number): TokenBucketPolicy {
  const { capacity, overdraft, p, q } = policy;
  if (overdraft > 0) {
    throw new PolicyError(
      'lease',
      `the policy ${shown(name)} (tokenBucket with overdraft) cannot be leased: no instance would know how deep its debt is. Leave overdraft or lease out`,
    );
  }
  const refilled = refilledIn(policy, maxAgeMs);
  if (p * maxAgeMs > (capacity - 1) * q) {
    throw new PolicyError(
      'lease',
      `the policy ${shown(name)} has a capacity of ${String(capacity)}, and refills ${String(refilled)} in the ${String(maxAgeMs)} ms that a slice may be old: its capacity must be at least ${String(refilled + 1)}; or give lease a shorter maxAge`,
    );
  }
  return parseTokenBucket({ ...policy, capacity: capacity - refilled });
}

/** A bucket that was full meanwhile has refilled so many units. */
function refilledIn({ p, q }: TokenBucketPolicy, ms: number): number {
  return Math.ceil((p * ms) / q);
}
