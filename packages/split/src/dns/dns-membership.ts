import { Resolver } from 'node:dns/promises';
import { localTime, readOptions } from '@sluice/core/spi';
import type { Membership } from '../membership/membership.ts';
import { Poller, type AskMembers } from '../poll/poller.ts';
import { membersByAddress, membersByTarget } from './member-records.ts';
import { DNS_MEMBERSHIP, type DnsMembershipOptions, type DnsMembershipSettings } from './options.ts';

/**
 * A membership by the records of a name: headless services of Kubernetes, Nomad, Cloud Map, `tasks.NAME` of Swarm. An
 * answer may be as old as resolvers keep the record, so `ttlMs` is longer than that. A name without records is no
 * answer: the last one counts for its time. Not for the DNS of Consul, whose answers are cut: use
 * {@link consulMembership}.
 *
 * @throws PolicyError for a bad or unknown option. Nothing is asked before a limiter uses it.
 */
export function dnsMembership(options: DnsMembershipOptions): Membership {
  const settings = readOptions(options, DNS_MEMBERSHIP, 'dnsMembership');
  const { self, everyMs, ttlMs } = settings;
  return new Poller({ id: self, everyMs, ttlMs }, asker(settings), localTime);
}

/** Two tries fit into the time after which a request is abandoned. */
const TRIES = 2;

function asker({ name, type, ttlMs, servers }: DnsMembershipSettings): AskMembers {
  const resolver = new Resolver({ timeout: Math.ceil(ttlMs / 2 / (TRIES + 1)), tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const ask = {
    SRV: async () => membersByTarget(await resolver.resolveSrv(name)),
    A: async () => membersByAddress(await resolver.resolve4(name)),
    AAAA: async () => membersByAddress(await resolver.resolve6(name)),
  }[type];
  return async (signal) => {
    const cancel = (): void => {
      resolver.cancel();
    };
    signal.addEventListener('abort', cancel);
    try {
      return await ask();
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}
