import type { Policy } from '@sluice/old-core';
import type { ManagedReference } from '@sluice/old-managed';
import { writtenPolicy } from '@sluice/old-core/inspect';
import type { LimitRef } from '@sluice/old-core/spi';
import type { LimitOf } from './configuration.ts';
import { isName, limitAt, readPolicy } from './policy-value.ts';
import type { YamlValue } from './yaml-value.ts';

const UNNAMED = 'limit';
const SLOTS =
  "concurrency holds a slot until it is released, and Envoy's protocol has no release; write the policy under limits:, and use /v1/acquire and /v1/release";

/** The value of `sluice` of a descriptor. */
export interface SluiceRule {
  readonly limit: LimitRef;
  /** The policies as text. */
  readonly written: string;
}

/**
 * Reads `sluice`: a policy, a list of several with a name each, or a managed one. Undefined where it cannot be used,
 * which is reported.
 *
 * @param names - The name of a policy without one is the first of these that can be: it is part of the key.
 */
export function readSluice(
  value: YamlValue,
  names: readonly (string | undefined)[],
  limitOf: LimitOf,
): SluiceRule | undefined {
  const name = names.find((one) => one !== undefined && isName(one)) ?? UNNAMED;
  const policy = value.isList ? readList(value) : readPolicy(value, { where: 'sluice', name, mayName: true });
  if (policy === undefined) return undefined;
  const limit = limitAt(value, policy, name, limitOf, SLOTS);
  return limit && { limit, written: writtenPolicies(policy) };
}

/** Reads a list of policies. */
function readList(value: YamlValue): readonly Policy[] | undefined {
  const items = value.items('sluice', 'policies');
  const policies = items.map((item, i) => {
    const where = `sluice[${String(i)}]`;
    const policy = readPolicy(item, { where, name: undefined, mayName: true });
    if (policy?.algorithm !== 'managed') return policy;
    item.problem('a managed policy stands alone: it cannot be one of a list');
    return undefined;
  });
  if (items.length === 0) value.problemAtName('sluice must hold a policy, or a list of them, got an empty list');
  return policies.length > 0 && policies.every((policy) => policy !== undefined) ? policies : undefined;
}

/** Policies as text. */
export function writtenPolicies(policy: Policy | readonly Policy[] | ManagedReference): string {
  if (isList(policy)) return policy.map((one) => writtenPolicy(one)).join(' and ');
  return policy.algorithm === 'managed' ? `managed ${policy.name}` : writtenPolicy(policy);
}

function isList(policy: Policy | readonly Policy[] | ManagedReference): policy is readonly Policy[] {
  return Array.isArray(policy);
}
