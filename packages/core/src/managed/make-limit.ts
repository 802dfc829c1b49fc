import { PolicyError, shown } from '../errors.ts';
import type { Limit, Store } from '../engine/store.ts';
import type { Escalation } from '../values/escalate.ts';
import { ManagedLimit, type OnUnconfigured } from './managed-limit.ts';
import { policyCacheFor } from './shared-caches.ts';

/** The options of a limiter that its managed limits depend on, checked. */
export interface ManagedSettings {
  readonly store: Store;
  readonly app: string | undefined;
  readonly policies: object | undefined;
  readonly onUnconfigured: OnUnconfigured;
  readonly localShare: number;
  readonly escalate: Escalation | undefined;
  readonly lease: object | undefined;
  readonly denialCache: { readonly ageMs: number } | undefined;
}

/**
 * A limit that is looked up for every request.
 *
 * @param policy - The name of the policy at its source.
 * @param name - Its name in decisions.
 * @throws PolicyError without `app`, without a source of policies, or where a managed policy is ruled out.
 */
export function makeManagedLimit(policy: string, name: string, settings: ManagedSettings): ManagedLimit {
  const { store, app, policies, onUnconfigured, localShare, lease, escalate, denialCache } = settings;
  if (app === undefined) {
    throw new PolicyError(
      'app',
      `managed(${shown(policy)}) needs the option app, because a managed policy is only for the applications on its list; write, for example, app: "checkout"`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (lease !== undefined) {
    throw new PolicyError(
      'lease',
      `lease excludes managed(${shown(policy)}), because the policy may change before a slice is spent; leave lease out, or give the policy itself`,
    );
  }
  if (store.source === 'split') {
    throw new PolicyError(
      'policy',
      `a split limit is divided when its limiter is made, so that managed(${shown(policy)}) cannot be one: give the policy itself, or store: redisStore(...)`,
    );
  }
  return new ManagedLimit({
    policy,
    name,
    app,
    policyCache: policyCacheFor(policies, store),
    onUnconfigured,
    localShare,
    escalation: escalate,
    check: (limit: Limit): void => store.checkLimit?.(limit),
    denialAgeMs: denialCache?.ageMs ?? 0,
  });
}
