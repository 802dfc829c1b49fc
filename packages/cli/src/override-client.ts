import type { Policy } from '@sluice/core';
import type { Policies } from '@sluice/managed';

/** The overrides that a command reads and changes, wherever they are. */
export interface OverrideClient {
  readonly policies: Pick<Policies, 'override' | 'overrides' | 'removeOverride'>;
  /** The policy that they override, where it can be read. */
  readonly policyOf: (name: string) => Promise<Policy | undefined>;
}
