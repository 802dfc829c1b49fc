import { readOptions } from '@sluice/old-core/spi';
import type { Membership } from '../membership/membership.ts';
import { FIXED_MEMBERSHIP, type FixedMembershipOptions } from './options.ts';

/**
 * A membership whose members never change, such as the replicas of a StatefulSet. The shares add up to exactly the
 * limit, and each instance has its share at once.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function fixedMembership(options: FixedMembershipOptions): Membership {
  const { instances, index } = readOptions(options, FIXED_MEMBERSHIP, 'fixedMembership');
  const members = Object.fromEntries(Array.from({ length: instances }, (_, i) => [String(i), 1]));
  return {
    id: String(index),
    ttlMs: Infinity,
    join(confirmed) {
      confirmed({ members });
      return () => undefined;
    },
  };
}
