import { copiesHint } from '../platform/copies.ts';
import { PolicyError, shown } from '../errors.ts';
import type { makeManagedLimit } from './make-limit.ts';

/** A reference by name to a policy that is kept elsewhere. {@link managed} returns it. */
export interface ManagedReference {
  readonly algorithm: 'managed';
  readonly name: string;
}

type MakeManagedLimit = typeof makeManagedLimit;

/**
 * A reference carries what makes its limit, so that a program that has no managed policies does not load them. The same
 * symbol in all copies of the package.
 */
export const MAKES_LIMIT: unique symbol = Symbol.for('sluice.managed');

export function isManagedReference(policy: unknown): policy is ManagedReference {
  return (policy as Partial<ManagedReference> | null | undefined)?.algorithm === 'managed';
}

/**
 * Makes the limit of a reference.
 *
 * @throws PolicyError for a reference that `managed` has not made.
 */
export function makerOf(reference: ManagedReference & { readonly [MAKES_LIMIT]?: MakeManagedLimit }): MakeManagedLimit {
  const make = reference[MAKES_LIMIT];
  if (make !== undefined) return make;
  throw new PolicyError(
    'policy',
    `a managed policy must be the result of managed(name), got ${shown(reference)}; write managed(${shown(reference.name)})${copiesHint()}`,
  );
}
