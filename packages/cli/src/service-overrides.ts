import type { ListOverridesOptions, OverrideResult, OverrideTarget, PolicyOverride } from '@sluice/old-managed';
import type { OverrideClient } from './override-client.ts';
import { ask, type ServiceFlags } from './service-client.ts';

interface ListedOverrides {
  readonly overrides: readonly PolicyOverride[];
  readonly hasMore: boolean;
}

/** The overrides of the managed limits of a service, over `/v1/overrides`. Names are those of its limits. */
export function serviceOverrides(flags: ServiceFlags): OverrideClient {
  return {
    policyOf: () => Promise.resolve(undefined),
    tell: () => Promise.resolve(), // the service is not asked to
    policies: {
      override: async (limit, target, policy, options = {}) => {
        const body = { limit, ...fieldsOf(target), policy, ...options };
        return (await ask(flags, 'v1/overrides', body, 'PUT')) as OverrideResult;
      },
      overrides: async (limit, { concerning, ended, startsWith }: ListOverridesOptions = {}) => {
        const query = { limit, ...(concerning === undefined ? {} : fieldsOf(concerning)), ended, startsWith };
        const { overrides, hasMore } = (await ask(flags, pathOf(query))) as ListedOverrides;
        if (hasMore)
          console.error(
            `sluice: the service lists ${String(overrides.length)} at most; narrow them with --starts-with`,
          );
        return overrides;
      },
      removeOverride: async (limit, target, { by, reason } = {}) => {
        const path = pathOf({ limit, ...fieldsOf(target), by, reason });
        const { removed } = (await ask(flags, path, undefined, 'DELETE')) as { readonly removed: boolean };
        return removed;
      },
    },
  };
}

function fieldsOf(target: OverrideTarget): Readonly<Record<string, string>> {
  return typeof target === 'string' ? { key: target } : { prefix: target.prefix };
}

function pathOf(fields: Readonly<Record<string, string | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value));
  return `v1/overrides?${query.toString()}`;
}
