import { Resolver } from 'node:dns/promises';
import { pollMembership, type Membership } from '@sluice/core/split';

export interface DnsMembershipOptions {
  /** The name whose records list the members: a headless service of Kubernetes, Nomad, Cloud Map, `tasks.NAME` of Swarm. */
  readonly name: string;
  /** The IPv4 address of this instance. */
  readonly self: string;
  /** The addresses of the DNS servers, with a port if it is not 53. Default: those of the system. */
  readonly servers?: readonly string[];
}

/**
 * The IPv4 addresses behind a name, all of equal weight. A name without records is no answer: `pollMembership` keeps the
 * last one for `ttlMs`, which is longer than resolvers keep a record.
 */
export function dnsMembership({ name, self, servers }: DnsMembershipOptions): Membership {
  const resolver = new Resolver({ timeout: 1500, tries: 2 }); // both within half of ttlMs
  if (servers !== undefined) resolver.setServers(servers);
  const members = async (signal: AbortSignal): Promise<Record<string, number>> => {
    signal.addEventListener('abort', () => {
      resolver.cancel();
    });
    return Object.fromEntries((await resolver.resolve4(name)).map((address) => [address, 1]));
  };
  return pollMembership({ id: self, members, everyMs: 2000, ttlMs: 10_000 });
}
