import { MAKES_SOURCE, parseName, type LimitReference, type SourceSettings } from '@sluice/old-core/spi';
import { makeSource } from './make-source.ts';
import type { ManagedSource } from './managed-source.ts';

/** A reference by name to a policy that is kept elsewhere. {@link managed} returns it. */
export interface ManagedReference extends LimitReference {
  readonly algorithm: 'managed';
}

/**
 * Refers to the policy that `policies.put(name, ...)` keeps under this name. Use it in place of a policy: as
 * `policy`, in an entry of `limits`, or as the return value of a policy function. All limiters that use it, in any
 * application, count in the same budgets. Only the key distinguishes clients.
 *
 * @throws PolicyError for an invalid name.
 */
export function managed(name: string): ManagedReference {
  const policy = parseName(name, 'name');
  const value = (limit: string, settings: SourceSettings): ManagedSource => makeSource(policy, limit, settings);
  const reference = Object.defineProperty({ algorithm: 'managed', name: policy }, MAKES_SOURCE, { value });
  return Object.freeze(reference as ManagedReference);
}
