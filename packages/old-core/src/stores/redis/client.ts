import { PolicyError } from '../../errors.ts';
import { adoptIoredis, isIoredis, type IoredisClient } from './clients/ioredis.ts';
import { adoptNodeRedis, isNodeRedis, nodeRedisKeyPrefix } from './clients/node-redis.ts';
import type { RedisClient } from './clients/port.ts';

export type { IoredisClient } from './clients/ioredis.ts';
export type { NodeRedisClient } from './clients/node-redis.ts';
export { clientFor } from './clients/own-client.ts';
export type { AdoptedClient, OwnClient, RedisClient } from './clients/port.ts';

/**
 * The port of a client that the caller passed; undefined for an unknown kind of client.
 *
 * @throws PolicyError for a client of Valkey GLIDE, which needs a wrapper.
 */
export function adoptClient(client: unknown): RedisClient | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const { evalsha, eval: evaluate } = client as Partial<RedisClient>;
  if (typeof evalsha === 'function' && typeof evaluate === 'function') {
    return isIoredis(client) ? adoptIoredis(client) : (client as RedisClient);
  }
  if (isNodeRedis(client)) return adoptNodeRedis(client);
  if ('customCommand' in client) {
    throw new PolicyError(
      'client',
      'redisStore takes a client of Valkey GLIDE as an object with evalsha and eval that call its customCommand: see docs/guides/redis-clients.md',
      'SLUICE_OPTION_INVALID',
    );
  }
  return undefined;
}

/** The prefix that the client itself adds to every key. */
export function keyPrefixOf(client: unknown): string {
  if (typeof client !== 'object' || client === null) return '';
  const prefix = (client as Partial<IoredisClient>).options?.keyPrefix ?? nodeRedisKeyPrefix(client);
  return typeof prefix === 'string' ? prefix : '';
}
