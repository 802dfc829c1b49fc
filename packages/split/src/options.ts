import { LONGEST_TIMER_MS, invalidOption, type OptionTable, parsePrefix } from '@sluice/core/spi';
import type { Membership } from './membership.ts';
import { HEAVIEST, isWeight } from './weight.ts';

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

/** Options of {@link fixedMembership}. Every instance has the same `instances` and an `index` of its own. */
export interface FixedMembershipOptions {
  /** How many instances share every limit: a whole number, at least 1. */
  instances: number;
  /** The number of this instance, counted from 0. No two instances may have the same. */
  index: number;
}

/** Options of {@link redisMembership}. Use the same `ttlMs` in all instances of a group: the longest one counts. */
export interface RedisMembershipOptions {
  /**
   * This instance's part of every limit, in proportion to the weights of the others: a whole number from 1 to 1 000
   * 000, or a function that returns one and is called at every heartbeat. Default 1.
   */
  weight?: number | (() => number);
  /** Instances of the same group share their limits. Letters, digits, `.`, `_` and `-`. Default `default`. */
  group?: string;
  /** Milliseconds between two heartbeats, at least 10. Default 1000. */
  heartbeatMs?: number;
  /**
   * After this long without a heartbeat an instance stops being a member: at least twice `heartbeatMs`. Default three
   * times that.
   */
  ttlMs?: number;
  /** The beginning of the key. Default: the prefix of the store that is given, else `sluice`. */
  prefix?: string;
}

export interface SplitStoreSettings {
  readonly membership: Membership | number;
  readonly graceMs: number | undefined;
  readonly maxKeys: number | undefined;
}

export const SPLIT_STORE: OptionTable<SplitStoreSettings> = {
  membership: (given) => {
    if (typeof given === 'number') return instances(given, 'membership');
    if (isMembership(given)) return given;
    const expected =
      'redisMembership(client), fixedMembership({ instances, index }), an object with id, ttlMs and join, or a number of instances';
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

const MOST_INSTANCES = 100_000;

export const FIXED_MEMBERSHIP: OptionTable<FixedMembershipOptions> = {
  instances: (given) => instances(given, 'instances'),
  index: (given, name, { instances: count }) => {
    if (Number.isInteger(given) && Number(given) >= 0 && Number(given) < count) return Number(given);
    throw invalidOption(name, `a whole number from 0 to ${String(count - 1)}`, given);
  },
};

export interface RedisMembershipSettings {
  readonly weight: () => number;
  readonly group: string;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  readonly prefix: string | undefined;
}

/** A day. Redis keeps the members ten times as long. */
const LONGEST_MS = 86_400_000;

export const REDIS_MEMBERSHIP: OptionTable<RedisMembershipSettings> = {
  weight: (given = 1) => {
    if (typeof given === 'function') return given as () => number;
    if (isWeight(given)) return () => given;
    throw invalidOption(
      'weight',
      `a whole number from 1 to ${String(HEAVIEST)}, or a function that returns one`,
      given,
    );
  },
  group: (given = 'default') => {
    if (typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given)) return given;
    throw invalidOption('group', '1 to 64 of letters, digits, ".", "_" and "-"', given);
  },
  heartbeatMs: (given = 1000) => wholeNumber(given, 'heartbeatMs', 'milliseconds', { least: 10, most: LONGEST_MS }),
  ttlMs: (given, name, { heartbeatMs }) =>
    wholeNumber(given === undefined ? 3 * heartbeatMs : given, name, 'milliseconds', {
      least: 2 * heartbeatMs,
      most: LONGEST_MS,
    }),
  prefix: (given) => (given === undefined ? undefined : parsePrefix(given)),
};

function isMembership(given: unknown): given is Membership {
  const { id, ttlMs, join } = (given ?? {}) as Partial<Membership>;
  return typeof id === 'string' && typeof ttlMs === 'number' && ttlMs > 0 && typeof join === 'function';
}

function instances(given: unknown, field: string): number {
  return wholeNumber(given, field, 'instances', { least: 1, most: MOST_INSTANCES });
}

function wholeNumber(
  given: unknown,
  field: string,
  unit: string,
  { least, most, why }: { readonly least: number; readonly most: number; readonly why?: string },
): number {
  if (Number.isInteger(given) && Number(given) >= least && Number(given) <= most) return Number(given);
  const from = why === undefined ? String(least) : `${String(least)} ${why}`;
  throw invalidOption(field, `a whole number of ${unit} from ${from} to ${String(most)}`, given);
}
