import { PolicyError } from '../../../errors.ts';
import { adoptIoredis, isIoredis, type IoredisClient } from './ioredis.ts';
import { adoptNodeRedis, isNodeRedis, type NodeRedisClient } from './node-redis.ts';
import type { Port, RedisClient } from './port.ts';

/** A client of Upstash, which sends HTTP. */
export interface UpstashClient {
  evalsha(sha1: string, keys: string[], args: string[]): Promise<unknown>;
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
}

/** Any client that a Redis store takes. */
export type AnyRedisClient = RedisClient | IoredisClient | NodeRedisClient | UpstashClient;

/**
 * The port of a client that the caller passed; undefined for any other value.
 *
 * @throws PolicyError for a client of Valkey GLIDE, which needs a wrapper.
 */
export function adoptClient(client: unknown): Port | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  if (isIoredis(client)) return adoptIoredis(client);
  if (isNodeRedis(client)) return adoptNodeRedis(client);
  const { evalsha, eval: evaluate } = client as Partial<RedisClient>;
  if (typeof evalsha === 'function' && typeof evaluate === 'function') return client as RedisClient;
  if (!('customCommand' in client)) return undefined;
  throw new PolicyError(
    'client',
    'redisStore takes a Valkey GLIDE client wrapped in an object with evalsha and eval that call its customCommand: see docs/guides/redis-clients.md',
    'SLUICE_OPTION_INVALID',
  );
}
