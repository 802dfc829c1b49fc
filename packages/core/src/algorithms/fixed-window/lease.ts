import { PolicyError, shown } from '../../errors.ts';
import type { Lease } from '../algorithm.ts';
import type { FixedWindowPolicy } from './policy.ts';

/** A slice is spent in the window that it was taken in. */
export const leaseFixedWindow: Lease<FixedWindowPolicy> = {
  counted: withoutDenied,
  spentByMs: (_policy, untilMs) => untilMs,
};

function withoutDenied(policy: FixedWindowPolicy, name: string): FixedWindowPolicy {
  if (policy.countDenied !== true) return policy;
  throw new PolicyError(
    'lease',
    `the policy ${shown(name)} (fixedWindow with countDenied) cannot be leased: the store would not see what a process denies. Leave countDenied or lease out`,
  );
}
