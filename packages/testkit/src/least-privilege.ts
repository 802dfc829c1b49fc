/**
 * Rights of a Redis user, as arguments of `ACL SETUSER`. Each also needs the key pattern of the store's prefix:
 * `~sluice:*`.
 */
interface LeastPrivilege {
  /** One server, and the servers behind Sentinel. */
  readonly server: string;
  /** The nodes of a cluster. */
  readonly cluster: string;
  /** The Sentinels themselves, if they require a user; without a key pattern. */
  readonly sentinel: string;
}

/** The commands in the script, and those that call it. */
const SCRIPT = '+evalsha +eval +time +get +set +del';

/**
 * The least rights that a store needs, as in the guide on permissions: the stores under test have no others. `INFO` is
 * how ioredis learns that a server is still loading. In a cluster, clients read the slots, and follow keys that move.
 * `CLIENT SETNAME` keeps the log of denied commands empty. Sentinels return the primary and each other, and notify
 * subscribers of a failover.
 */
export const leastPrivilege: LeastPrivilege = {
  server: `${SCRIPT} +info`,
  cluster: `${SCRIPT} +info +cluster|slots +cluster|info +asking +client|setname`,
  sentinel:
    '&* +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|master +sentinel|replicas +subscribe +psubscribe',
};

/** The user of the stores under test, and where it may write. */
export const STORE_USER = { name: 'sluice', password: 'secret', keys: '~sluice:*' } as const;
