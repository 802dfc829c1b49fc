import type { Command } from 'commander';
import type { OverrideClient } from './override-client.ts';
import type { ServiceFlags } from './service-client.ts';
import { serviceOverrides } from './service-overrides.ts';
import { globalsOf, printOf, type Print } from './session.ts';
import { withPolicies } from './with-policies.ts';

/** Does work over the overrides in Redis or, with `--service`, over those of a service. */
export async function withOverrides(
  command: Command,
  work: (overrides: OverrideClient, print: Print) => Promise<void>,
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
