/** What a user of Redis is granted, as `ACL SETUSER` takes it. Every one needs the key pattern of the store's prefix as well: `~sluice:*`. */
export interface LeastPrivilege {
  /** One server, and the servers behind Sentinel. */
  readonly server: string;
  /** The nodes of a cluster. */
  readonly cluster: string;
  /** Beside these, wherever there is a slidingLog or a concurrency policy: their long states lie in lists and sorted sets. */
  readonly details: string;
  /** The Sentinels themselves, when they ask for a user; no key pattern there. */
  readonly sentinel: string;
}

/** What the script does, and how it is called. */
const SCRIPT = '+evalsha +eval +time +get +set +del';

/**
 * The fewest rights with which a store decides, as the guide on permissions states them: the stores under test have no
 * others. `INFO` is how ioredis learns that a server is still loading. In a cluster clients ask for the slots, and
 * follow keys that move. `CLIENT SETNAME` is there so that the log of denied commands stays empty. Sentinels are asked
 * for the primary and for each other, and tell subscribers of a failover.
 */
export const leastPrivilege: LeastPrivilege = {
  server: `${SCRIPT} +info`,
  cluster: `${SCRIPT} +info +cluster|slots +cluster|info +asking +client|setname`,
  details:
    '+pexpireat +llen +lindex +lset +rpush +ltrim +zadd +zcard +zscore +zrem +zrangebyscore +zrevrangebyscore +zremrangebyscore',
  sentinel:
    '&* +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|master +sentinel|replicas +subscribe +psubscribe',
};

/** The user of the stores under test, and where it may write. */
export const STORE_USER = { name: 'sluice', password: 'secret', keys: '~sluice:*' } as const;
