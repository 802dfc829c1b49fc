import { localTime, readOptions } from '@sluice/old-core/spi';
import { withinLeaveTime } from '../membership/joining.ts';
import type { Membership } from '../membership/membership.ts';
import { Poller } from '../poll/poller.ts';
import { ConsulAgent } from './consul-agent.ts';
import { askHealthyInstances } from './healthy-instances.ts';
import { CONSUL_MEMBERSHIP, EVERY_MS, type ConsulMembershipOptions } from './options.ts';
import { Registration } from './registration.ts';

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
  const { address, service, id, token, ttlMs, register } = readOptions(options, CONSUL_MEMBERSHIP, 'consulMembership');
  const agent = new ConsulAgent(address, token);
  const ask = askHealthyInstances(agent, service, Math.floor(ttlMs / WAITS));
  const poller = new Poller({ id, ttlMs, everyMs: EVERY_MS }, ask, localTime);
  if (register === undefined) return poller;
  const registration = new Registration(agent, { service, id }, register, localTime);
  return {
    id,
    ttlMs,
    join(confirmed, failed) {
      const leave = poller.join(confirmed, failed);
      const remove = registration.keep(failed);
      return async () => {
        leave();
        await withinLeaveTime(remove());
      };
    },
  };
}
