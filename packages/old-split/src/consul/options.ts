import {
  invalidOption,
  type OptionTable,
  optional,
  readOptions,
  type SettingsOf,
  valueThat,
} from '@sluice/old-core/spi';
import { memberId, ttlMs } from '../poll/options.ts';
import { wholeNumber } from '../values/whole-number.ts';

/** Options of {@link consulMembership}. */
export interface ConsulMembershipOptions {
  /** The URL of a Consul agent. Default `'http://127.0.0.1:8500'`. */
  address?: string;
  /** The name of the service whose instances are the members. */
  service: string;
  /** The id of this instance among those of the service, which no other instance on any node has. */
  id: string;
  /** Sent as `X-Consul-Token`. It needs `service_prefix` and `node_prefix` read, and to register `service` write. */
  token?: string;
  /**
   * How long an answer counts, in milliseconds from when it was asked for; at least 400. Default 10 000. A query waits
   * for a change for a quarter of that.
   */
  ttlMs?: number;
  /**
   * Registers this instance at the agent, with a check that this process renews. `true`: with the weight 1. Default
   * `false`: something else registers it.
   */
  register?: boolean | ConsulRegistration;
}

/** How {@link consulMembership} registers an instance. */
export interface ConsulRegistration {
  /** `Weights.Passing` of the instance: a whole number from 1 to 65 535. Default 1. */
  weight?: number;
  /** Where the instance is reached. Default: the address of the agent's node. */
  address?: string;
  /** The port where the instance is reached. Default: none. */
  port?: number;
  /**
   * How long the check passes without being renewed, in milliseconds, at least 1000: after this time a process that was
   * killed is no member. Renewed three times in it. Default 5000.
   */
  checkTtlMs?: number;
}

export type RegistrationSettings = SettingsOf<
  ConsulRegistration,
  { readonly address: string | undefined; readonly port: number | undefined }
>;

export type ConsulMembershipSettings = SettingsOf<
  ConsulMembershipOptions,
  { readonly token: string | undefined; readonly register: RegistrationSettings | undefined }
>;

const DEFAULT_ADDRESS = 'http://127.0.0.1:8500';
/** From the beginning of one query to that of the next, however often members change. */
export const EVERY_MS = 200;
const LONGEST_CHECK_MS = 86_400_000;

const CONSUL_REGISTRATION: OptionTable<RegistrationSettings> = {
  weight: (given = 1, name) => wholeNumber(given, name, 'parts', { least: 1, most: 65_535 }),
  address: optional(valueThat(isText, 'a host name or address')),
  port: optional((given, name) => wholeNumber(given, name, 'a port', { least: 1, most: 65_535 })),
  checkTtlMs: (given = 5000, name) => wholeNumber(given, name, 'milliseconds', { least: 1000, most: LONGEST_CHECK_MS }),
};

export const CONSUL_MEMBERSHIP: OptionTable<ConsulMembershipSettings> = {
  address: (given = DEFAULT_ADDRESS, name) => originOf(given, name),
  service: valueThat(isText, 'the name of the service whose instances share the limits'),
  id: memberId,
  token: (given, name) => {
    // Anything else would be in the error of fetch.
    if (given === undefined || (typeof given === 'string' && /^[\x21-\x7e]+$/.test(given))) return given;
    throw invalidOption(name, 'a text of visible ASCII characters', typeof given === 'string' ? 'another text' : given);
  },
  ttlMs: (given = 10_000, name) => ttlMs(given, name, EVERY_MS),
  register: (given = false) => {
    if (given === false) return undefined;
    return readOptions(given === true ? {} : given, CONSUL_REGISTRATION, 'consulMembership register');
  },
};

function isText(given: unknown): boolean {
  return typeof given === 'string' && given !== '';
}

/** The address may hold a password, and is not shown. */
function originOf(given: unknown, field: string): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isOrigin && url.pathname === '/' && url.search === '') return url.origin;
  const got = typeof given === 'string' ? 'another text' : given;
  throw invalidOption(field, 'the http or https URL of an agent, without a path; secrets go into token', got);
}
