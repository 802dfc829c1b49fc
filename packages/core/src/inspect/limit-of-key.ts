import { readValue } from '../stores/redis/value.ts';
import type { NamedPolicy } from '../engine/policy.ts';
import type { Limit } from '../engine/store.ts';
import { inspectedPolicies, type InspectOptions } from './inspect-key.ts';
import { ANY_VERSION, NO_DEFINITIONS, type Definitions } from './inspect-source.ts';
import { ownerOfExternalState, readKeyText } from './key-text.ts';

/** The part of a request to a store that names a key. */
export interface KnownKey {
  readonly limit: Limit;
  readonly subject: string;
}

/**
 * The limit and the subject of a key in Redis, with which a store performs requests on it: those of a `Part`. Sends
 * nothing.
 *
 * @param value - As GET returns it: tells which version of a managed policy wrote it.
 * @returns Undefined for a key that belongs to no limiter, and where the numbers of a policy are not known.
 * @throws PolicyError if one of `policies` is invalid.
 */
export function limitOfKey(key: string, value: string, options: InspectOptions = {}): KnownKey | undefined {
  const { prefix = 'sluice', definitions = NO_DEFINITIONS } = options;
  const text = ownerOfExternalState(key, prefix) === undefined ? readKeyText(key, prefix) : undefined;
  if (text === undefined) return undefined;
  const { subject, owner } = text;
  const keySuffix = key.slice(`${prefix}:{${subject}}`.length);
  if (text.isManaged) {
    const limit = changingLimit(definitions(owner, subject), key, value);
    return limit && { limit: { ...limit, keySuffix }, subject };
  }
  const known = inspectedPolicies(key, text, options.policies ?? []) ?? [];
  const policies = known.flatMap(({ name, algorithm, policy }): readonly NamedPolicy[] =>
    policy === undefined ? [] : [{ name, algorithm, policy, windowMs: algorithm.windowMs(policy) }],
  );
  return policies.length === 0 || policies.length < known.length
    ? undefined
    : { limit: { policies, keySuffix }, subject };
}

function changingLimit(
  definition: ReturnType<Definitions>,
  key: string,
  value: string,
): Omit<Limit, 'keySuffix'> | undefined {
  if (typeof definition === 'string') return undefined;
  const { named, version } = definition;
  const read = readValue(value, key, { policies: [named], policyVersion: ANY_VERSION });
  if (read instanceof Error || read.version === undefined) return undefined;
  const earlier = definition.earlier(read.version);
  return { policies: [named], policyVersion: { version, earlier: new Map([[read.version, earlier]]) } };
}
