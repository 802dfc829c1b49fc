import type { OverrideResult, OverrideTarget, PolicyOverride } from '@sluice/old-managed';
import type { OverrideClient } from './override-client.ts';
import { ask, type ServiceFlags } from './service-client.ts';

interface ListedOverrides {
  readonly overrides: readonly PolicyOverride[];
  readonly hasMore: boolean;
}

/**
 * The overrides of the managed limits of a service, over `POST /v1/override`, `/v1/overrides` and `/v1/remove-override`. Names
 * are those of its limits.
 */
export function serviceOverrides(flags: ServiceFlags): OverrideClient {
  return {
    policyOf: () => Promise.resolve(undefined),
    tell: () => Promise.resolve(), // the service is not asked to
    policies: {
      override: async (limit, target, policy, options = {}) => {
        return (await ask(flags, 'v1/override', { limit, ...fieldsOf(target), policy, ...options })) as OverrideResult;
      },
      overrides: async (limit) => {
        const { overrides, hasMore } = (await ask(flags, 'v1/overrides', { limit })) as ListedOverrides;
        if (hasMore) console.error(`sluice: the service lists ${String(overrides.length)} at most`);
        return overrides;
      },
      removeOverride: async (limit, target, { by, reason } = {}) => {
        const body = { limit, ...fieldsOf(target), by, reason };
        return ((await ask(flags, 'v1/remove-override', body)) as { readonly removed: boolean }).removed;
      },
    },
  };
}

function fieldsOf(target: OverrideTarget): Readonly<Record<string, string>> {
  return typeof target === 'string' ? { key: target } : { prefix: target.prefix };
}
