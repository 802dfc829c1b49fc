import { invalidOption, type OptionTable } from '@sluice/old-core/spi';
import { instances } from '../values/whole-number.ts';

/** Options of {@link fixedMembership}. Every instance has the same `instances` and an `index` of its own. */
export interface FixedMembershipOptions {
  /** How many instances share every limit: a whole number, at least 1. */
  instances: number;
  /** The number of this instance, counted from 0. No two instances may have the same. */
  index: number;
}

export const FIXED_MEMBERSHIP: OptionTable<FixedMembershipOptions> = {
  instances: (given) => instances(given, 'instances'),
  index: (given, name, { instances: count }) => {
    if (Number.isInteger(given) && Number(given) >= 0 && Number(given) < count) return Number(given);
    throw invalidOption(name, `a whole number from 0 to ${String(count - 1)}`, given);
  },
};
