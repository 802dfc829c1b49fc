import { PolicyError, shown } from '../../errors.ts';
import { checkOptions } from '../../options.ts';
import type { Membership } from './membership.ts';

/** Options of {@link fixedMembership}: every instance is given the same `instances`, and an `index` of its own. */
export interface FixedMembershipOptions {
  /** How many instances share every limit: a whole number, at least 1. */
  instances: number;
  /** Which of them this one is, counted from 0: no two may be the same. */
  index: number;
}

const MOST_INSTANCES = 100_000;

/**
 * So many instances, always, of which this is one: replicas of a StatefulSet, say. The shares add up to the limit
 * exactly, and each has its share at once.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function fixedMembership(options: FixedMembershipOptions): Membership {
  checkOptions(options, ['instances', 'index'], 'fixedMembership');
  const { instances, index } = options;
  checkInstances(instances, 'instances');
  if (!Number.isInteger(index) || index < 0 || index >= instances) {
    throw new PolicyError(
      'index',
      `index must be a whole number from 0 to ${String(instances - 1)}, got ${shown(index)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
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

/** @throws PolicyError for what is no number of instances. */
export function checkInstances(instances: unknown, field: string): asserts instances is number {
  if (Number.isInteger(instances) && Number(instances) >= 1 && Number(instances) <= MOST_INSTANCES) return;
  throw new PolicyError(
    field,
    `${field} must be a whole number of instances from 1 to ${String(MOST_INSTANCES)}, got ${shown(instances)}`,
    'SLUICE_OPTION_INVALID',
  );
}
