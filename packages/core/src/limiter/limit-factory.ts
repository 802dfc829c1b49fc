import type { CoreSettings } from './options.ts';
import { keySuffixOf } from '../engine/key.ts';
import type { PolicyCache } from '../managed/policy-cache.ts';
import { makerOf, type ManagedReference } from '../managed/reference.ts';
import type { ManagedLimit } from '../managed/managed-limit.ts';
import type { NamedPolicy } from '../engine/policy.ts';
import { leasedPolicy } from '../engine/lease-policy.ts';
import { withFallback } from '../stores/fallback.ts';
import { isFastPathEligible, type Limit } from '../engine/store.ts';

/** Makes the limits of one limiter, and holds the policy caches that its managed policies use. */
export class LimitFactory {
  readonly #settings: CoreSettings;
  readonly #policyCaches = new Set<PolicyCache>();
  #isInUse = false;

  constructor(settings: CoreSettings) {
    this.#settings = settings;
  }

  /**
   * @throws PolicyError when these policies cannot be split by `localShare`, cannot be leased although the limiter
   * leases, or cannot be counted by the store.
   */
  of(given: readonly NamedPolicy[]): Limit {
    const { name, store, escalate: escalation, localShare } = this.#settings;
    const policies = this.#counted(given);
    const own: Limit = {
      policies,
      keySuffix: keySuffixOf(name, policies),
      denialAgeMs: this.#denialAgeMs,
      ...(escalation === undefined ? {} : { escalation }),
    };
    const limit = withFallback({ ...own, fastPathEligible: isFastPathEligible(own) }, localShare);
    store.checkLimit?.(limit);
    return limit;
  }

  /**
   * The policies as the store counts them: with leases, buckets are smaller by what is held. A memory store leases
   * nothing.
   */
  #counted(policies: readonly NamedPolicy[]): readonly NamedPolicy[] {
    const { lease, store } = this.#settings;
    if (lease === undefined) return policies;
    const leased = policies.map((named) => leasedPolicy(named, lease.maxAgeMs));
    return store.source === 'memory' ? policies : leased;
  }

  /**
   * A limit that is looked up for every request.
   *
   * @param name - The policy's name in decisions. Default: its name at the source.
   * @throws PolicyError as {@link makerOf} and what it returns do.
   */
  managed(reference: ManagedReference, name: string = reference.name): ManagedLimit {
    const limit = makerOf(reference)(reference.name, name, this.#settings);
    const { policyCache } = limit;
    if (!this.#policyCaches.has(policyCache)) {
      this.#policyCaches.add(policyCache);
      if (this.#isInUse) policyCache.enter();
    }
    return limit;
  }

  get #denialAgeMs(): number {
    return this.#settings.denialCache?.ageMs ?? 0;
  }

  /** Starts to follow the managed policies. */
  enter(): void {
    this.#isInUse = true;
    for (const policyCache of this.#policyCaches) policyCache.enter();
  }

  /** Stops following them. Returns failures, and throws none. */
  async leave(): Promise<readonly Error[]> {
    const left = await Promise.allSettled([...this.#policyCaches].map((policyCache) => policyCache.leave()));
    return left.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  }
}
