import { invalid, optional, optionsOf, readOptions, valueThat, wholeNumber, withDefault } from '../../values/shape.ts';
import type { Field, Optional, Options, Reader, Settings, WithDefault } from '../../values/shape.ts';
import { localTime } from '../membership/local-time.ts';
import { withinLeaveTime, type Membership } from '../membership/membership.ts';
import { MAX_PERIOD_MS, memberId, poll } from '../membership/poll-membership.ts';
import { ConsulAgent } from './consul-agent.ts';
import { askHealthyInstances } from './healthy-instances.ts';
import { keepRegistered, REGISTRATION, type ConsulRegistration } from './registration.ts';

const readRegistration: Reader<Settings<typeof REGISTRATION> | undefined> = (given, field, code) =>
  given === false ? undefined : optionsOf(REGISTRATION)(given === true ? {} : given, field, code);

const CONSUL = {
  /** The URL of a Consul agent. Default `http://127.0.0.1:8500`. */
  address: withDefault(readOrigin, 'http://127.0.0.1:8500') as WithDefault<string>,
  /** The name of the service whose instances are the members. */
  service: valueThat(
    (given) => typeof given === 'string' && given !== '',
    'the name of the service whose instances share the limits',
  ) as Field<string>,
  /** The id of this instance among those of the service, which no other instance on any node has. */
  id: memberId as Field<string>,
  /** Sent as `X-Consul-Token`. It needs `service_prefix` and `node_prefix` read, and to register `service` write. */
  token: optional(readToken) as Optional<string>,
  /**
   * How long an answer counts, in milliseconds from when it was asked for; at least 400. A query waits for a change for
   * a quarter of that. Default `10_000`.
   */
  ttlMs: withDefault(wholeNumber(400, MAX_PERIOD_MS, 'a whole number of milliseconds'), 10_000) as WithDefault<number>,
  /**
   * Registers this instance at the agent, with a check that this process renews. `true`: with the weight 1. Default
   * `false`: something else registers it.
   */
  register: withDefault(readRegistration, undefined) as WithDefault<
    boolean | ConsulRegistration,
    Settings<typeof REGISTRATION> | undefined
  >,
};

export interface ConsulMembershipOptions extends Options<typeof CONSUL> {}

/** From the beginning of one query to that of the next, however often members change. */
const EVERY_MS = 200;
/** A query waits for this part of the time that its answer counts, so that a lost one leaves time for the next. */
const WAITS = 4;

/**
 * A membership by the health of a service in Consul: the instances whose checks pass are the members, and their
 * `Weights.Passing` are their weights, which a balancer configured from Consul uses too. One blocking query at a time,
 * which is answered when something changes. The shares keep the limit as an {@link UntimedConfirmation} describes.
 *
 * @throws PolicyError for a bad or unknown option. Nothing is sent before a limiter uses it. No error holds the token.
 */
export function consulMembership(options: ConsulMembershipOptions): Membership {
  const { address, service, id, token, ttlMs, register } = readOptions(options, CONSUL, 'consulMembership');
  const agent = new ConsulAgent(address, token);
  const ask = askHealthyInstances(agent, service, Math.floor(ttlMs / WAITS));
  const polling = poll(id, ask, { ttlMs, everyMs: EVERY_MS }, localTime);
  return {
    id,
    ttlMs,
    join(confirmed, failed) {
      const end = polling.join(confirmed, failed);
      const remove = register && keepRegistered(agent, { service, id }, register, failed);
      return async () => {
        await end();
        if (remove !== undefined) await withinLeaveTime(remove());
      };
    },
  };
}

/** Anything else would be in the error of fetch. */
function readToken(given: unknown, field: string): string {
  if (typeof given === 'string' && /^[\x21-\x7e]+$/.test(given)) return given;
  throw invalid(field, 'a text of visible ASCII characters', typeof given === 'string' ? 'another text' : given);
}

/** The address may hold a password, and is not shown. */
function readOrigin(given: unknown, field: string): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isOrigin && url.pathname === '/' && url.search === '') return url.origin;
  const got = typeof given === 'string' ? 'another text' : given;
  throw invalid(field, 'the http or https URL of an agent, without a path; secrets go into token', got);
}
