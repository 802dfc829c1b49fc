import { PolicyError } from '@sluice/old-core';
import { shown, type SourceSettings } from '@sluice/old-core/spi';
import { ManagedSource } from './managed-source.ts';
import { policyCacheFor } from './shared-caches.ts';

/**
 * The source of the limits of a managed policy.
 *
 * @param policy - The name of the policy at its source.
 * @param name - Its name in decisions.
 * @throws PolicyError without `app`, without a source of policies, or where a managed policy is ruled out.
 */
export function makeSource(policy: string, name: string, settings: SourceSettings): ManagedSource {
  const { store, app, policies, onUnconfigured, localShare, limitOf } = settings;
  if (app === undefined) {
    throw new PolicyError(
      'app',
      `managed(${shown(policy)}) needs the option app, because a managed policy is only for the applications on its list; write, for example, app: "checkout"`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return new ManagedSource({
    policy,
    name,
    app,
    policyCache: policyCacheFor(policies, store),
    onUnconfigured,
    localShare,
    limitOf,
  });
}
