import type { Command } from 'commander';
import type { Policy } from '@sluice/core';
import type { Policies } from '@sluice/managed';
import type { ServiceFlags } from './service-client.ts';
import { serviceOverrides } from './service-overrides.ts';
import { globalsOf, printOf, type Print } from './session.ts';
import { withPolicies } from './with-policies.ts';

/** The overrides that a command reads and changes, wherever they are. */
export interface Overrides {
  readonly policies: Pick<Policies, 'override' | 'overrides' | 'removeOverride'>;
  /** The policy that they override, where it can be read. */
  readonly policyOf: (name: string) => Promise<Policy | undefined>;
}

/** Does work over the overrides in Redis or, with `--service`, over those of a service. */
export async function withOverrides(
  command: Command,
  work: (overrides: Overrides, print: Print) => Promise<void>,
  options: { readonly writes?: boolean } = {},
): Promise<void> {
  const flags = command.opts<ServiceFlags>();
  if (flags.service !== undefined) {
    await work(serviceOverrides(flags), printOf(globalsOf(command)));
    return;
  }
  await withPolicies(
    command,
    (policies, { print }) => work({ policies, policyOf: async (name) => (await policies.get(name))?.policy }, print),
    options,
  );
}
