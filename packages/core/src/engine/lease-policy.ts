import type { Lease, PolicyBase } from '../algorithms/algorithm.ts';
import { knownAlgorithms } from '../algorithms/registry.ts';
import { PolicyError, shown } from '../errors.ts';
import { listed } from '../values/hint.ts';
import type { NamedPolicy } from './policy.ts';

/**
 * A policy as the store counts it where slices are spent up to `maxAgeMs` after they were taken: windows unchanged,
 * a bucket smaller by what it refills in that time. So spending keeps to the given policy.
 *
 * @throws PolicyError for a policy that cannot be leased, or for a bucket too small.
 */
export function leasedPolicy(named: NamedPolicy, maxAgeMs: number): NamedPolicy {
  const { name, algorithm, policy } = named;
  const { lease = 'what it promises does not hold for units that are spent later' } = algorithm;
  if (typeof lease === 'string') {
    const others = knownAlgorithms.filter((other) => typeof other.lease === 'object').map((other) => other.name);
    throw new PolicyError(
      'lease',
      `the policy ${shown(name)} (${algorithm.name}) cannot be leased: ${lease}. Use ${listed(others, 'or')}, or leave lease out`,
    );
  }
  if (lease.counted === undefined) return named;
  const counted = lease.counted(policy, name, maxAgeMs);
  return { ...named, policy: counted, windowMs: algorithm.windowMs(counted) };
}

/**
 * The instant by which a unit must be spent, if it stops counting at `untilMs`: the end of the window, or block,
 * that it was taken in.
 */
export function spentByMs(named: NamedPolicy, untilMs: number): number {
  return leaseOf(named).spentByMs(named.policy, untilMs);
}

/**
 * How many units cannot be given back after they were held for so long: a bucket that was full meanwhile has
 * refilled them.
 */
export function refilledIn(named: NamedPolicy, ms: number): number {
  return leaseOf(named).refilledIn?.(named.policy, ms) ?? 0;
}

/** The `lease` of a policy that {@link leasedPolicy} accepted. */
function leaseOf({ algorithm }: NamedPolicy): Lease<PolicyBase> {
  return algorithm.lease as Lease<PolicyBase>;
}
