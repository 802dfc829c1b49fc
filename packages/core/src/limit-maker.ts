import type { CoreSettings } from './core-options.ts';
import { PolicyError, shown } from './errors.ts';
import { keyScope } from './key.ts';
import type { Definitions } from './managed/definitions.ts';
import { definitionsFor } from './managed/followed.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import type { ManagedReference } from './managed/managed.ts';
import type { NamedPolicy } from './policy.ts';
import { leasedPolicy } from './stores/lease/lease-policy.ts';
import { withStandIn } from './stores/local-store.ts';
import { isPlainLimit, type Limit } from './stores/store.ts';

/** Makes the limits of one limiter, and knows where those of its policies that are managed are looked up. */
export class LimitMaker {
  readonly #settings: CoreSettings;
  readonly #definitions = new Set<Definitions>();
  #isInUse = false;

  constructor(settings: CoreSettings) {
    this.#settings = settings;
  }

  /**
   * @throws PolicyError when no `localShare` of these policies can be counted, no slices of them can be taken where the limiter
   * leases, or when the store cannot count them.
   */
  of(given: readonly NamedPolicy[]): Limit {
    const { name, store, escalation, localShare } = this.#settings;
    const policies = this.#counted(given);
    const own: Limit = {
      policies,
      scope: keyScope(name, policies),
      denialAgeMs: this.#denialAgeMs,
      ...(escalation === undefined ? {} : { escalation }),
    };
    const limit = withStandIn({ ...own, plain: isPlainLimit(own) }, localShare);
    store.checkLimit?.(limit);
    return limit;
  }

  /** The policies as they are counted: smaller buckets, where slices of them are held. Nobody holds any of a memory store. */
  #counted(policies: readonly NamedPolicy[]): readonly NamedPolicy[] {
    const { lease, store } = this.#settings;
    if (lease === undefined) return policies;
    const leased = policies.map((named) => leasedPolicy(named, lease.maxAgeMs));
    return store.source === 'memory' ? policies : leased;
  }

  /**
   * A limit that is looked up whenever it is asked for.
   *
   * @param name - What decisions call its policy. Default: what its source does.
   * @throws PolicyError where there is no `app`, or nowhere to look.
   */
  managed(reference: ManagedReference, name: string = reference.name): ManagedLimit {
    const { store, app, policies, onUnconfigured, localShare, lease, escalation } = this.#settings;
    if (app === undefined) {
      throw new PolicyError(
        'app',
        `a managed policy is for the applications on its list: say which one this is, such as app: "checkout", beside managed(${shown(reference.name)})`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (lease !== undefined) {
      throw new PolicyError(
        'lease',
        `no slices of managed(${shown(reference.name)}) can be taken, for it may change before they are spent: leave lease out, or give the policy itself`,
      );
    }
    if (store.source === 'split') {
      throw new PolicyError(
        'policy',
        `a split limit is divided when its limiter is made, so that managed(${shown(reference.name)}) cannot be one: give the policy itself, or store: redisStore(...)`,
      );
    }
    const definitions = definitionsFor(policies, store);
    if (!this.#definitions.has(definitions)) {
      this.#definitions.add(definitions);
      if (this.#isInUse) definitions.enter();
    }
    const check = (limit: Limit): void => store.checkLimit?.(limit);
    return new ManagedLimit({
      ...{ policy: reference.name, name, app, definitions, onUnconfigured, localShare, escalation, check },
      denialAgeMs: this.#denialAgeMs,
    });
  }

  get #denialAgeMs(): number {
    return this.#settings.denialCache?.ageMs ?? 0;
  }

  /** The limiter is in use from now on, and follows its policies. */
  enter(): void {
    this.#isInUse = true;
    for (const definitions of this.#definitions) definitions.enter();
  }

  /** Ends following them. What failed is answered, not thrown. */
  async leave(): Promise<readonly Error[]> {
    const left = await Promise.allSettled([...this.#definitions].map((definitions) => definitions.leave()));
    return left.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  }
}
