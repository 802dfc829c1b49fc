import { parseName } from '../values/name.ts';
import { makeManagedLimit } from './make-limit.ts';
import { MAKES_LIMIT, type ManagedReference } from './reference.ts';

/**
 * Refers to the policy that `policies.put(name, ...)` keeps under this name. Use it in place of a policy: as
 * `policy`, in an entry of `limits`, or as the return value of a policy function. All limiters that use it, in any
 * application, count in the same budgets. Only the key distinguishes clients.
 *
 * @throws PolicyError for an invalid name.
 */
export function managed(name: string): ManagedReference {
  const reference: ManagedReference = { algorithm: 'managed', name: parseName(name, 'name') };
  return Object.freeze(Object.defineProperty(reference, MAKES_LIMIT, { value: makeManagedLimit }));
}
