import type { PolicyBase } from '../../algorithms/algorithm.ts';
import { blocksOf, type SlidingWindowPolicy } from '../../algorithms/sliding-window/policy.ts';
import { parseTokenBucket, type TokenBucketPolicy } from '../../algorithms/token-bucket/policy.ts';
import { PolicyError, shown } from '../../errors.ts';
import type { NamedPolicy } from '../../policy.ts';

const WHY_NOT: Readonly<Record<string, string>> = {
  slidingCounter: 'its units fade from the instant they are taken at, not from the one they are spent at',
  slidingLog: 'it remembers when each unit was spent, and of a slice nobody knows that',
  intervalBucket: 'its units come back at once, so that two slices could be spent together: leave mode: "interval" out',
  leakyBucket: 'it gives each request a place in time',
  concurrency: 'its units are held, and not spent',
};

/**
 * A policy as it is counted where slices of it are spent up to `maxAgeMs` after they were taken: windows as they are, a
 * bucket with what it refills in that time less room. So what is spent keeps to the policy that was given.
 *
 * @throws PolicyError for a policy of which no slices can be taken, or for a bucket too small.
 */
export function leasedPolicy(named: NamedPolicy, maxAgeMs: number): NamedPolicy {
  const { name, algorithm, policy } = named;
  switch (policy.algorithm) {
    case 'fixedWindow':
    case 'slidingWindow':
      return named;
    case 'tokenBucket': {
      const smaller = smallerBucket(policy as TokenBucketPolicy, name, maxAgeMs);
      return { ...named, policy: smaller, windowMs: algorithm.windowMs(smaller) };
    }
    default: {
      const why = WHY_NOT[policy.algorithm] ?? 'what it promises does not hold for units that are spent later';
      throw new PolicyError(
        'lease',
        `no slices of the policy ${shown(name)} (${policy.algorithm}) can be taken: ${why}. Use fixedWindow, slidingWindow or tokenBucket, or leave lease out`,
      );
    }
  }
}

function smallerBucket(policy: TokenBucketPolicy, name: string, maxAgeMs: number): TokenBucketPolicy {
  const { capacity, overdraft, p, q } = policy;
  if (overdraft > 0) {
    throw new PolicyError(
      'lease',
      `no slices of the policy ${shown(name)} (tokenBucket with overdraft) can be taken: nobody would know how deep its debt is. Leave overdraft or lease out`,
    );
  }
  const refilled = Math.ceil((p * maxAgeMs) / q);
  if (p * maxAgeMs > (capacity - 1) * q) {
    throw new PolicyError(
      'lease',
      `the policy ${shown(name)} has a capacity of ${String(capacity)}, and refills ${String(refilled)} in the ${String(maxAgeMs)} ms that a slice may be old: its capacity must be at least ${String(refilled + 1)}; or give lease a shorter maxAge`,
    );
  }
  return parseTokenBucket({ ...policy, capacity: capacity - refilled });
}

/**
 * By when a unit must have been spent, of those that stop counting at `untilMs`: the end of the window, or of the block,
 * that they were taken in.
 */
export function spentByMs({ policy }: NamedPolicy, untilMs: number): number {
  switch (policy.algorithm) {
    case 'fixedWindow':
      return untilMs;
    case 'slidingWindow': {
      const { precisionMs } = policy as SlidingWindowPolicy;
      return untilMs - blocksOf(policy as SlidingWindowPolicy) * precisionMs;
    }
    default:
      return Infinity;
  }
}

/**
 * Of units that were held for so long, and not spent, how many cannot be given back: a bucket that was full meanwhile has
 * refilled them.
 */
export function refilledIn({ policy }: { readonly policy: PolicyBase }, ms: number): number {
  if (policy.algorithm !== 'tokenBucket') return 0;
  const { p, q } = policy as TokenBucketPolicy;
  return Math.ceil((p * ms) / q);
}
