import { PolicyError } from '../../errors.ts';
import { adoptIoredis, isIoredis, type IoredisClient } from './clients/ioredis.ts';
import { adoptNodeRedis, isNodeRedis, nodeRedisKeyPrefix } from './clients/node-redis.ts';
import type { RedisClient } from './clients/port.ts';

export type { IoredisClient } from './clients/ioredis.ts';
export type { NodeRedisClient } from './clients/node-redis.ts';
export { clientFor } from './clients/own-client.ts';
export type { OwnClient, RedisClient } from './clients/port.ts';

/**
 * The port of a client that was handed in, or undefined when it is none we know.
 *
 * @throws PolicyError for a client of Valkey GLIDE, which has to be wrapped.
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

/** What the client would put in front of every key by itself. */
export function keyPrefixOf(client: unknown): string {
  if (typeof client !== 'object' || client === null) return '';
  const prefix = (client as Partial<IoredisClient>).options?.keyPrefix ?? nodeRedisKeyPrefix(client);
  return typeof prefix === 'string' ? prefix : '';
}
