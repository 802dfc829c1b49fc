import { randomBytes } from 'node:crypto';
import {
  localTime,
  readOptions,
  connectTo,
  connectionOf,
  type RedisConnection,
  failureOf,
  runScript,
} from '@sluice/old-core/spi';
import type { IoredisClient, NodeRedisClient, RedisClient, RedisStore } from '@sluice/old-core';
import { Heartbeats } from './heartbeats.ts';
import { withinLeaveTime } from '../membership/joining.ts';
import type { Membership } from '../membership/membership.ts';
import { REDIS_MEMBERSHIP, type RedisMembershipOptions } from './options.ts';
import { heartbeat } from './scripts.generated.ts';

/**
 * A membership by heartbeats to Redis: one small script call every `heartbeatMs`, and none on the path of a request.
 * Redis records by its own clock when each instance was a member, in one hash per group, `<prefix>:members:<group>`.
 *
 * @param redis - A Redis store, or a client or URL as `redisStore` accepts it.
 * @throws PolicyError for a bad or unknown option, and for a client or URL without a prefix. Nothing is sent before a
 * limiter uses it.
 */
export function redisMembership(redis: RedisStore, options?: RedisMembershipOptions): Membership;
export function redisMembership(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisMembershipOptions & { readonly prefix: string },
): Membership;
export function redisMembership(
  redis: RedisStore | RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisMembershipOptions = {},
): Membership {
  const { weight, group, heartbeatMs, ttlMs, prefix } = readOptions(options, REDIS_MEMBERSHIP, 'redisMembership');
  const connection = connectionTo(redis, prefix);
  const key = `${connection.prefix}:members:${group}`;
  // A new id for each process: the epochs of an earlier process are not valid for this one.
  const id = randomBytes(9).toString('base64url');
  const heartbeats = new Heartbeats(
    { id, weight, heartbeatMs, ttlMs },
    async (share, mark) => {
      try {
        return await runScript(await connection.open(), heartbeat, [key], [id, String(share), String(ttlMs), mark]);
      } catch (error) {
        throw failureOf(error);
      }
    },
    localTime,
  );
  return {
    id,
    ttlMs,
    join(confirmed, failed) {
      const leave = heartbeats.join(confirmed, failed);
      return async () => {
        await withinLeaveTime(leave());
        await connection.close();
      };
    },
  };
}

/** The connection for heartbeats. The connection of a store is used, and never closed here. */
function connectionTo(
  redis: RedisStore | RedisClient | IoredisClient | NodeRedisClient | string,
  prefix: string | undefined,
): RedisConnection {
  const given = typeof redis === 'object' ? connectionOf(redis as RedisStore) : undefined;
  if (given === undefined) return connectTo(redis, { prefix }, 'redisMembership');
  return {
    through: given.through,
    keyPrefix: given.keyPrefix,
    prefix: prefix ?? given.prefix,
    open: () => given.open(),
    close: () => Promise.resolve(),
  };
}
