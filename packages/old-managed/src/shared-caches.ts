import { PolicyError, type Store } from '@sluice/old-core';
import { connectionOf, type RedisConnection } from '@sluice/old-core/spi';
import { PolicyCache } from './policy-cache.ts';
import { RedisPolicySource } from './redis-source.ts';

/** By the object that `createPolicies` returned. */
const cachesOfPolicies = new WeakMap<object, PolicyCache>();
/** By client and prefix. */
const cachesInRedis = new WeakMap<object, Map<string, PolicyCache>>();

/** Makes limiters with these `policies` use this cache. */
export function shareCache(policies: object, policyCache: PolicyCache): void {
  cachesOfPolicies.set(policies, policyCache);
}

/** The cache that limiters of this process use through the same client, if there is one. */
export function sharedCacheOf({ through, prefix }: RedisConnection): PolicyCache | undefined {
  return cachesInRedis.get(through)?.get(prefix);
}

/**
 * The cache in which a limiter looks up its managed policies.
 *
 * @throws PolicyError if the limiter has neither `policies` nor a Redis store.
 */
export function policyCacheFor(policies: object | undefined, store: Store): PolicyCache {
  const given = policies === undefined ? undefined : cachesOfPolicies.get(policies);
  if (given !== undefined) return given;
  const connection = policies === undefined ? connectionOf(store) : undefined;
  if (connection === undefined) {
    throw new PolicyError(
      'policies',
      `managed policies are kept in the Redis of the limiter: use store: redisStore(...), or name another source with policies: createPolicies(source)`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const { through, prefix } = connection;
  const byPrefix = cachesInRedis.get(through) ?? new Map<string, PolicyCache>();
  cachesInRedis.set(through, byPrefix);
  const policyCache = byPrefix.get(prefix) ?? new PolicyCache(new RedisPolicySource(connection));
  byPrefix.set(prefix, policyCache);
  return policyCache;
}
