import { PolicyError } from '@sluice/old-core';
import { limitOfPolicy, type LimiterCore } from '@sluice/old-core/spi';
import type { LimitOf } from './config/configuration.ts';
import type { Settings } from './options.ts';

/**
 * Makes the limits of a configuration.
 *
 * @throws PolicyError for a managed policy without Redis: what core would say names a store, which files do not.
 */
export function limitsOf(core: LimiterCore, { store, redis }: Pick<Settings, 'store' | 'redis'>): LimitOf {
  const isMemory = store === undefined && redis === undefined;
  return (policy) => {
    if (isMemory && 'algorithm' in policy && policy.algorithm === 'managed') {
      throw new PolicyError(
        'managed',
        'a managed policy is kept in Redis: give --redis (createServer: redis), or write the policy itself',
        'SLUICE_OPTION_INVALID',
      );
    }
    return limitOfPolicy(core, policy);
  };
}
