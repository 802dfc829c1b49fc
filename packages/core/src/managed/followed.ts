import { PolicyError } from '../errors.ts';
import { connectionOf, type RedisConnection } from '../stores/redis/connection.ts';
import type { Store } from '../stores/store.ts';
import { Definitions } from './definitions.ts';
import { RedisPolicySource } from './redis-source.ts';

/** By what `createPolicies` answered. */
const ofPolicies = new WeakMap<object, Definitions>();
/** By client and prefix. */
const inRedis = new WeakMap<object, Map<string, Definitions>>();

/** Has limiters that are given these policies look there. */
export function noteDefinitions(policies: object, definitions: Definitions): void {
  ofPolicies.set(policies, definitions);
}

/** Whether a value is what `createPolicies` of this copy answered. */
export function isPolicies(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ofPolicies.has(value);
}

/** What limiters of this process look in through the same client, if any does. */
export function followedThrough({ through, prefix }: RedisConnection): Definitions | undefined {
  return inRedis.get(through)?.get(prefix);
}

/**
 * What limiters look their managed policies up in.
 *
 * @throws PolicyError where there is nothing to look in.
 */
export function definitionsFor(policies: object | undefined, store: Store): Definitions {
  const given = policies === undefined ? undefined : ofPolicies.get(policies);
  if (given !== undefined) return given;
  const connection = connectionOf(store);
  if (connection === undefined) {
    throw new PolicyError(
      'policies',
      'a managed policy is looked up in the Redis of its limiter: give it store: redisStore(...), or say where else with policies: createPolicies(source)',
      'SLUICE_OPTION_INVALID',
    );
  }
  const { through, prefix } = connection;
  const byPrefix = inRedis.get(through) ?? new Map<string, Definitions>();
  inRedis.set(through, byPrefix);
  const definitions = byPrefix.get(prefix) ?? new Definitions(new RedisPolicySource(connection));
  byPrefix.set(prefix, definitions);
  return definitions;
}
