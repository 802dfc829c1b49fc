import { PolicyError, shown } from '../errors.ts';
import { parseName } from '../values/name.ts';

/** A reference by name to a policy that is kept elsewhere. {@link managed} returns it. */
export interface ManagedReference {
  readonly algorithm: 'managed';
  readonly name: string;
}

/**
 * Refers to the policy that `policies.put(name, ...)` keeps under this name. Use it in place of a policy: as
 * `policy`, in an entry of `limits`, or as the return value of a policy function. All limiters that use it, in any
 * application, count in the same budgets. Only the key distinguishes clients.
 *
 * @throws PolicyError for an invalid name.
 */
export function managed(name: string): ManagedReference {
  return Object.freeze({ algorithm: 'managed', name: parseName(name, 'name') });
}

export function isManagedReference(policy: unknown): policy is ManagedReference {
  return (policy as Partial<ManagedReference> | null | undefined)?.algorithm === 'managed';
}

const LONGEST_APP = 128;

/**
 * Checks the name of an application. It is compared exactly with the `apps` of a policy.
 *
 * @throws PolicyError unless it is a string of 1 to 128 characters.
 */
export function parseApp(app: unknown, field: string): string {
  if (typeof app === 'string' && app !== '' && app.length <= LONGEST_APP) return app;
  throw new PolicyError(
    field,
    `${field} must be the name of an application, 1 to ${String(LONGEST_APP)} characters, got ${shown(app)}`,
    'SLUICE_OPTION_INVALID',
  );
}
