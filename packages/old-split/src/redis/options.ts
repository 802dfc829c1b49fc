import { invalidOption, type OptionTable, parsePrefix, type SettingsOf } from '@sluice/old-core/spi';
import { HEAVIEST, isWeight } from '../values/weight.ts';
import { wholeNumber } from '../values/whole-number.ts';

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
  /**
   * The name of your application, with which the key begins. Required with a client or URL. Default: the prefix of the
   * store that is given.
   */
  prefix?: string;
}

export type RedisMembershipSettings = SettingsOf<
  RedisMembershipOptions,
  { readonly weight: () => number; readonly prefix: string | undefined }
>;

/** A day. Redis keeps the members ten times as long. */
const LONGEST_MS = 86_400_000;

const CALL = "redisMembership(client, { prefix: 'shop' })";

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
  prefix: (given) => (given === undefined ? undefined : parsePrefix(given, CALL)),
};
