import type { Clock, IoredisClient, NodeRedisClient, RedisClient, RedisStoreOptions, Store } from '@sluice/old-core';
import { parsePrefix } from '@sluice/old-core/spi';
import { clockedRedisStore } from './clocked-redis-store.ts';

/**
 * A store in a real Redis that takes the time from a clock of the test, for a limiter or an application that is given
 * its store: the scripts of `redisStore`, but for the one line that asks the server for the time.
 *
 * - Its keys expire by the server's clock, some fourteen years later: use a Redis of the tests, and a `prefix` for each
 *   test. Processes that share a budget here need clocks that agree.
 * - Each decision is a call of its own; there are no batches and no denial cache. Decisions are the same.
 * - Windows that start on the clock (sliding windows, `align: 'clock'`) start where `redisStore` would start them, if they
 *   divide 5040 days. Others start elsewhere; the law of the policy holds.
 *
 * @param client - As for `redisStore`. The server needs no other rights.
 * @throws PolicyError as `redisStore` does.
 */
export function redisStoreWithClock(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  clock: Clock,
  options: RedisStoreOptions,
): Store {
  parsePrefix(
    (options as RedisStoreOptions | undefined)?.prefix,
    "redisStoreWithClock(client, clock, { prefix: 'shop' })",
  );
  return clockedRedisStore(client, clock, options);
}
