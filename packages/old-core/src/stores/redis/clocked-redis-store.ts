import { createHash } from 'node:crypto';
import type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts';
import type { RedisStoreOptions } from './redis-options.ts';
import { createRedisStore, type RedisStore } from './redis-store.ts';
import type { Script } from './run-script.ts';
import { batch, general } from './scripts.generated.ts';

/**
 * The one line by which the test build of a script differs: it takes the instant from its last argument, instead of
 * from the server.
 */
export const PRODUCTION_LINE = 'local time = redis.call("TIME")';
export const TEST_LINE =
  'local instant = table.remove(ARGV) local time = { string.sub(instant, 1, -4), string.sub(instant, -3) .. "000" }';

function testBuildOf({ source }: Script): Script {
  const changed = source.replace(PRODUCTION_LINE, TEST_LINE);
  return { source: changed, sha1: createHash('sha1').update(changed).digest('hex') };
}

/** The test build of the general script. */
export function testGeneral(): Script {
  return testBuildOf(general);
}

/** A Redis store with the test builds of its scripts, for tests. `instantOf` returns the instant, as Redis is to count it. */
export function redisStoreAt(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisStoreOptions,
  instantOf: () => number,
): RedisStore {
  return createRedisStore(client, options, { general: testGeneral(), batch: testBuildOf(batch) }, instantOf);
}
