import { invalid, readOptions, wholeNumber, type Field, type Options, type Reader } from '../../values/shape.ts';
import { localTime, readTime } from './local-time.ts';
import type { Membership } from './membership.ts';

const MAX_INSTANCES = 10_000;

/** A number of instances. */
export const instances: Reader<number> = wholeNumber(1, MAX_INSTANCES, 'a whole number of instances');

const FIXED = {
  /** How many instances share every limit: a whole number, at least 1. */
  instances: instances as Field<number>,
  /** The number of this instance, counted from 0. No two instances may have the same. */
  index: wholeNumber(0, MAX_INSTANCES) as Field<number>,
};

/** Every instance has the same `instances` and an `index` of its own. */
export interface FixedMembershipOptions extends Options<typeof FIXED> {}

/**
 * A membership whose members never change, such as the replicas of a StatefulSet. The shares add up to exactly the
 * limit, and each instance has its share at once.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function fixedMembership(options: FixedMembershipOptions): Membership {
  const { instances: count, index } = readOptions(options, FIXED, 'fixedMembership');
  if (index >= count) throw invalid('index', `a whole number from 0 to ${String(count - 1)}`, index);
  const ids = Array.from({ length: count }, (_, i) => String(i).padStart(String(MAX_INSTANCES).length, '0'));
  const members = Object.fromEntries(ids.map((id) => [id, 1]));
  return {
    id: ids[index] as string,
    ttlMs: Infinity,
    join(confirmed) {
      confirmed({ members, ...readTime(localTime) });
      return () => undefined;
    },
  };
}
