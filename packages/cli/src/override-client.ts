import type { Policy } from '@sluice/old-core';
import type { Policies } from '@sluice/old-managed';
import type { PageChange } from '@sluice/page/spi';

/** The overrides that a command reads and changes, wherever they are. */
export interface OverrideClient {
  readonly policies: Pick<Policies, 'override' | 'overrides' | 'removeOverride'>;
  /** The policy that they override, where it can be read. */
  readonly policyOf: (name: string) => Promise<Policy | undefined>;
  /** Tells pages of a change that was made. Never rejects. */
  readonly tell: (change: PageChange) => Promise<void>;
}
