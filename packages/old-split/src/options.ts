import { LONGEST_TIMER_MS, invalidOption, type OptionTable, type SettingsOf } from '@sluice/old-core/spi';
import type { Membership } from './membership/membership.ts';
import { instances, wholeNumber } from './values/whole-number.ts';

/**
 * Options of {@link splitStore}. The store splits the limits of the limiters that use it. Every instance creates these
 * limiters with the same numbers.
 */
export interface SplitStoreOptions {
  /**
   * The instances that share the limits: `redisMembership(...)`, `fixedMembership(...)`, a registry of yours, or the
   * number of instances with equal shares.
   */
  membership: Membership | number;
  /**
   * How long after a change of members some instance may still act by the old members: more than the membership's
   * `ttlMs`, by default a second more; 0 where the members never change.
   */
  graceMs?: number;
  /** As for `memoryStore`. */
  maxKeys?: number;
}

export type SplitStoreSettings = SettingsOf<
  SplitStoreOptions,
  { readonly graceMs: number | undefined; readonly maxKeys: number | undefined }
>;

export const SPLIT_STORE: OptionTable<SplitStoreSettings> = {
  membership: (given) => {
    if (typeof given === 'number') return instances(given, 'membership');
    if (isMembership(given)) return given;
    const expected =
      'redisMembership(client, { prefix }), fixedMembership({ instances, index }), an object with id, ttlMs and join, or a number of instances';
    throw invalidOption('membership', expected, given);
  },
  graceMs: (given, name, { membership }) => {
    if (given === undefined) return undefined;
    const ttlMs = typeof membership === 'number' ? Infinity : membership.ttlMs;
    const least = ttlMs === Infinity ? 0 : Math.floor(ttlMs) + 1;
    const why = "(more than the membership's ttlMs, because an instance acts by its last confirmation for that long)";
    return wholeNumber(given, name, 'milliseconds', { least, most: LONGEST_TIMER_MS, why });
  },
  maxKeys: (given) => given as number | undefined, // checked by memoryStore
};

function isMembership(given: unknown): given is Membership {
  const { id, ttlMs, join } = (given ?? {}) as Partial<Membership>;
  return typeof id === 'string' && typeof ttlMs === 'number' && ttlMs > 0 && typeof join === 'function';
}
