import { PolicyError, shown } from '../errors.ts';
import { parseName } from '../name.ts';

/** A policy that is kept elsewhere, by its name: what {@link managed} answers. */
export interface ManagedReference {
  readonly algorithm: 'managed';
  readonly name: string;
}

/**
 * Stands for the policy that `policies.put(name, ...)` keeps under this name, wherever a policy is given: as `policy`,
 * in an entry of `limits`, or as what a policy function answers. All limiters that use it count in the same budgets,
 * whichever application they are in: what tells clients apart is the key.
 *
 * @throws PolicyError for what is no name.
 */
export function managed(name: string): ManagedReference {
  return Object.freeze({ algorithm: 'managed', name: parseName(name, 'name') });
}

export function isManagedReference(policy: unknown): policy is ManagedReference {
  return (policy as Partial<ManagedReference> | null | undefined)?.algorithm === 'managed';
}

const LONGEST_APP = 128;

/**
 * The name of an application, as it stands on the lists of policies: compared exactly.
 *
 * @throws PolicyError for what is not 1 to 128 characters of text.
 */
export function parseApp(app: unknown, field: string): string {
  if (typeof app === 'string' && app !== '' && app.length <= LONGEST_APP) return app;
  throw new PolicyError(
    field,
    `${field} must be the name of an application, 1 to ${String(LONGEST_APP)} characters, got ${shown(app)}`,
    'SLUICE_OPTION_INVALID',
  );
}
