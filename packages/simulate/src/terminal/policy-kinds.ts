import type { Policy } from '@sluice/old-core';
import { policyFactories } from '@sluice/old-core/inspect';
import { UsageError } from './failure.ts';
import { insteadOf } from '@sluice/old-core/inspect';

/** Every kind of policy, by the name of its factory function. */
export const policyKinds: readonly string[] = policyFactories.map(({ name }) => name);

/**
 * A policy of this kind.
 *
 * @throws UsageError for an unknown kind; the errors of the factory function.
 */
export function policyOf(kind: string, options: Readonly<Record<string, unknown>>): Policy {
  const factory = policyFactories.find(({ name }) => name === kind);
  if (factory === undefined) {
    throw new UsageError(`there is no policy ${JSON.stringify(kind)}; ${insteadOf(kind, policyKinds)}`);
  }
  return factory.make(options);
}
