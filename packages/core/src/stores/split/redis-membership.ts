import { randomBytes } from 'node:crypto';
import { PolicyError, shown } from '../../errors.ts';
import { checkOptions } from '../../options.ts';
import type { IoredisClient, NodeRedisClient, RedisClient } from '../redis/client.ts';
import { connectTo, connectionOf, parsePrefix, type RedisConnection } from '../redis/connection.ts';
import { failureOf } from '../redis/failure.ts';
import type { RedisStore } from '../redis/redis-store.ts';
import { runScript } from '../redis/run-script.ts';
import { Heartbeats, localTime } from './heartbeats.ts';
import type { Membership } from './membership.ts';
import { heartbeat } from './scripts.generated.ts';
import { HEAVIEST, isWeight } from './weight.ts';

/** Options of {@link redisMembership}. All instances of a group should have the same `ttlMs`: the longest counts for everybody. */
export interface RedisMembershipOptions {
  /**
   * This instance's part of every limit, in proportion to the weights of the others: a whole number from 1 to 1 000 000,
   * or a function that is asked at every heartbeat. Default 1.
   */
  weight?: number | (() => number);
  /** Instances share limits with those of the same group. Letters, digits, `.`, `_` and `-`. Default `default`. */
  group?: string;
  /** How often this instance says that it is there, at least 10. Default 1000. */
  heartbeatMs?: number;
  /** After how long a silence it is taken for gone: at least twice `heartbeatMs`. Default three times that. */
  ttlMs?: number;
  /** What the key begins with. Default: that of the store that was given, else `sluice`. */
  prefix?: string;
}

/** A day: whoever comes back later than ten times the time to live is new. */
const LONGEST_MS = 86_400_000;
/** How long leaving waits to be heard. */
const LEAVE_WITHIN_MS = 1000;

/**
 * The instances that say in Redis that they are there: one small script call every `heartbeatMs`, none on the path of a
 * request. Redis keeps who was a member when, by its own clock, in one hash of the group, `<prefix>:members:<group>`.
 *
 * @param redis - A Redis store, or what `redisStore` takes: a client or a URL.
 * @throws PolicyError for a bad or unknown option. Nothing is sent before a limiter uses it.
 */
export function redisMembership(
  redis: RedisStore | RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisMembershipOptions = {},
): Membership {
  checkOptions(options, ['weight', 'group', 'heartbeatMs', 'ttlMs', 'prefix'], 'redisMembership');
  const { weight = 1, group = 'default', heartbeatMs = 1000, ttlMs = 3 * heartbeatMs } = options;
  if (typeof weight !== 'function' && !isWeight(weight)) {
    throw invalid('weight', `a whole number from 1 to ${String(HEAVIEST)}, or a function that answers one`, weight);
  }
  if (typeof group !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(group)) {
    throw invalid('group', '1 to 64 of letters, digits, ".", "_" and "-"', group);
  }
  checkMs('heartbeatMs', heartbeatMs, 10);
  checkMs('ttlMs', ttlMs, 2 * heartbeatMs);
  const connection = connectionTo(redis, options.prefix);
  const key = `${connection.prefix}:members:${group}`;
  // Whoever the process was before: nothing of what that one was told is true of this one.
  const id = randomBytes(9).toString('base64url');
  const heartbeats = new Heartbeats(
    { id, weight: typeof weight === 'function' ? weight : () => weight, heartbeatMs, ttlMs },
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
        await withinTime(leave());
        await connection.close();
      };
    },
  };
}

/** A store's connection is its own to close. */
function connectionTo(
  redis: RedisStore | RedisClient | IoredisClient | NodeRedisClient | string,
  prefix: string | undefined,
): RedisConnection {
  const given = typeof redis === 'object' ? connectionOf(redis as RedisStore) : undefined;
  if (given === undefined) return connectTo(redis, prefix === undefined ? {} : { prefix }, 'redisMembership');
  return {
    through: given.through,
    keyPrefix: given.keyPrefix,
    prefix: prefix === undefined ? given.prefix : parsePrefix(prefix),
    open: () => given.open(),
    close: () => Promise.resolve(),
  };
}

async function withinTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LEAVE_WITHIN_MS);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function checkMs(field: string, value: unknown, least: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= LONGEST_MS) return;
  throw invalid(field, `a whole number of milliseconds from ${String(least)} to ${String(LONGEST_MS)}`, value);
}

function invalid(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
}
