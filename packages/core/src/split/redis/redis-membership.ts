import type { AnyRedisClient } from '../../stores/redis/clients/adopt.ts';
import { findConnection, connectTo, type RedisConnection } from '../../stores/redis/connection.ts';
import { parsePrefix } from '../../values/prefix.ts';
import type { RedisStore } from '../../stores/redis/redis-store.ts';
import { invalid, optional, readOptions, valueThat, withDefault } from '../../values/shape.ts';
import type { Optional, Options, Reader, WithDefault } from '../../values/shape.ts';
import { localTime } from '../membership/membership-clock.ts';
import { isWeight, MAX_WEIGHT, type Membership } from '../membership/membership.ts';
import { period, readTtl } from '../membership/poll-membership.ts';
import { heartbeats } from './heartbeats.ts';
import { heartbeat } from './scripts.generated.ts';

const readWeight: Reader<() => number> = (given, field) => {
  if (typeof given === 'function') return given as () => number;
  if (isWeight(given)) return () => given;
  throw invalid(field, `a whole number from 1 to ${String(MAX_WEIGHT)}, or a function that returns one`, given);
};

const REDIS = {
  /**
   * This instance's share of every limit, relative to the weights of the others: a whole number from 1 to 1 000 000, or
   * a function that returns one, called at every heartbeat. Default `1`.
   */
  weight: withDefault(readWeight, () => 1) as WithDefault<number | (() => number), () => number>,
  /** Instances of the same group share their limits. Letters, digits, `.`, `_` and `-`. Default `default`. */
  group: withDefault(
    valueThat((given) => /^[A-Za-z0-9._-]{1,64}$/.test(String(given)), '1 to 64 of letters, digits, ".", "_" and "-"'),
    'default',
  ) as WithDefault<string>,
  /** Milliseconds between two heartbeats, varied by a tenth; at least 10. Default `1000`. */
  heartbeatMs: withDefault(period, 1000) as WithDefault<number>,
  /**
   * After this long without a heartbeat, an instance stops being a member: at least twice `heartbeatMs`. The longest in
   * a group applies. Default: three times `heartbeatMs`.
   */
  ttlMs: optional(period) as Optional<number>,
  /**
   * The name of your application, which the key begins with. Required with a client or URL. Default: the prefix of the
   * store that is given.
   */
  prefix: optional((given) => parsePrefix(given, 'redisMembership')) as Optional<string>,
};

export interface RedisMembershipOptions extends Options<typeof REDIS> {}

/**
 * A membership by heartbeats to Redis: one small script call every `heartbeatMs`, and none for a request. Redis records
 * by its own clock when each instance was a member, in one hash per group, `<prefix>:members:<group>`.
 *
 * @param redis - A Redis store, or a client or URL as `redisStore` accepts it.
 * @throws PolicyError for a bad or unknown option, and for a client or URL without a prefix. Nothing is sent before a
 * limiter uses it.
 */
export function redisMembership(redis: RedisStore, options?: RedisMembershipOptions): Membership;
export function redisMembership(
  client: AnyRedisClient | string,
  options: RedisMembershipOptions & { readonly prefix: string },
): Membership;
export function redisMembership(
  redis: RedisStore | AnyRedisClient | string,
  options: RedisMembershipOptions = {},
): Membership {
  const { weight, group, heartbeatMs, ttlMs: ttl, prefix } = readOptions(options, REDIS, 'redisMembership');
  const ttlMs = readTtl(ttl, heartbeatMs);
  // Uses the store's connection, and never closes it.
  const connect = (): RedisConnection =>
    (typeof redis === 'object' ? findConnection(redis as RedisStore) : undefined) ??
    connectTo(redis as AnyRedisClient | string, prefix, 'redisMembership');
  let connection = connect();
  const key = `${prefix ?? connection.prefix}:members:${group}`;
  // A new id for each process: the epochs of an earlier process are not valid for this one.
  const id = crypto.randomUUID();
  const beating = heartbeats(
    { id, weight, heartbeatMs, ttlMs },
    (share, change) => connection.eval(heartbeat.source, [key], [id, String(share), String(ttlMs), change]),
    localTime,
  );
  return {
    id,
    ttlMs,
    join(confirmed, failed) {
      connection = connect();
      const leave = beating.join(confirmed, failed);
      return async () => {
        await leave();
        await connection.close();
      };
    },
  };
}
