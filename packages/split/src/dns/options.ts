import { Resolver } from 'node:dns';
import { invalidOption, type OptionTable, optional, type SettingsOf, valueThat } from '@sluice/core/spi';
import { everyMs, ttlMs } from '../poll/options.ts';
import { readSelf } from './member-records.ts';

/** Options of {@link dnsMembership}. */
export interface DnsMembershipOptions {
  /** The name whose records list the members, such as `gateways.default.svc.cluster.local`. */
  name: string;
  /**
   * The kind of the records. `SRV`: the weight of a member is that of its record, and 1 for 0. `A` and `AAAA`: all have
   * equal weights.
   */
  type: 'SRV' | 'A' | 'AAAA';
  /** The record of this instance: `target:port` for `SRV`, else its address. */
  self: string;
  /** Milliseconds from one query to the next, varied by a tenth; at least 10. Default 2000. */
  everyMs?: number;
  /**
   * How long an answer counts, in milliseconds: at least twice `everyMs`, and longer than resolvers keep the record.
   * Default 10 000, and at least three times `everyMs`.
   */
  ttlMs?: number;
  /** The addresses of the DNS servers, with a port after a colon if it is not 53. Default: those of the system. */
  servers?: readonly string[];
}

export type DnsMembershipSettings = SettingsOf<
  DnsMembershipOptions,
  { readonly servers: readonly string[] | undefined }
>;

const DEFAULT_TTL_MS = 10_000;

export const DNS_MEMBERSHIP: OptionTable<DnsMembershipSettings> = {
  name: valueThat((given) => typeof given === 'string' && given !== '', 'a name of the DNS'),
  type: (given, name) => {
    if (given === 'SRV' || given === 'A' || given === 'AAAA') return given;
    throw invalidOption(name, '"SRV", "A" or "AAAA"', given);
  },
  self: (given, name, { type }) => {
    const self = typeof given === 'string' ? readSelf(type, given) : undefined;
    if (self !== undefined) return self;
    const expected = { SRV: 'target:port', A: 'an IPv4 address', AAAA: 'an IPv6 address' }[type];
    throw invalidOption(name, `the record of this instance, ${expected}`, given);
  },
  everyMs: (given = 2000, name) => everyMs(given, name),
  ttlMs: (given, name, { everyMs: every }) => ttlMs(given ?? Math.max(DEFAULT_TTL_MS, 3 * every), name, every),
  servers: optional(valueThat(areServers, 'a list of IP addresses, such as ["127.0.0.1:8600"]')),
};

function areServers(given: unknown): boolean {
  if (!Array.isArray(given) || given.length === 0) return false;
  try {
    new Resolver().setServers(given as string[]);
    return true;
  } catch {
    return false; // it names the first that is no address
  }
}
