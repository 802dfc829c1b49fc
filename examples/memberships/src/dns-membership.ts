import { Resolver } from 'node:dns/promises';
import { pollMembership, type Membership } from '@sluice/core/split';

export interface DnsMembershipOptions {
  /** The name whose records list the members: a headless service of Kubernetes, Nomad, Cloud Map, `tasks.NAME` of Swarm. */
  readonly name: string;
  /** The record of this instance: its IPv4 address, or `target:port` for `srvMembership`. */
  readonly self: string;
  /** The addresses of the DNS servers, with a port if it is not 53. Default: those of the system. */
  readonly servers?: readonly string[];
}

/** The IPv4 addresses behind a name, all of equal weight. */
export function dnsMembership(options: DnsMembershipOptions): Membership {
  return recordMembership(options, async (resolver) =>
    (await resolver.resolve4(options.name)).map((address) => [address, 1]),
  );
}

/** The targets of a name's SRV records, with their weights. A registry without weights writes 0. */
export function srvMembership(options: DnsMembershipOptions): Membership {
  return recordMembership(options, async (resolver) =>
    (await resolver.resolveSrv(options.name)).map(({ name, port, weight }) => [
      `${name.toLowerCase()}:${String(port)}`,
      Math.max(weight, 1),
    ]),
  );
}

/** A name without records is no answer: `pollMembership` keeps the last one for `ttlMs`, which is longer than resolvers keep a record. */
function recordMembership(
  { self, servers }: DnsMembershipOptions,
  ask: (resolver: Resolver) => Promise<[id: string, weight: number][]>,
): Membership {
  const resolver = new Resolver({ timeout: 1500, tries: 2 }); // both within half of ttlMs
  if (servers !== undefined) resolver.setServers(servers);
  const members = async (signal: AbortSignal): Promise<Record<string, number>> => {
    signal.addEventListener('abort', () => {
      resolver.cancel();
    });
    return Object.fromEntries(await ask(resolver));
  };
  return pollMembership({ id: self, members, everyMs: 2000, ttlMs: 10_000 });
}
