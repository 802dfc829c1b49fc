import { PolicyError, type Limit, type OnUnconfigured } from '@sluice/old-core';
import {
  sourceKeySuffix,
  staleError,
  warnOnce,
  withinDeadline,
  type LimitSource,
  type SourceSettings,
} from '@sluice/old-core/spi';
import { OverrideLimits } from './override-limits.ts';
import { earlierVersion, isResetBetween, type PolicyDefinition } from './read-record.ts';
import type { PolicyCache } from './policy-cache.ts';
import { versionedLimit, type VersionedLimitOptions, type VersionedPolicy } from './versioned-limit.ts';

export interface ManagedSourceOptions extends Pick<SourceSettings, 'onUnconfigured' | 'localShare' | 'limitOf'> {
  /** The name of the policy in the source. */
  readonly policy: string;
  /** The name of the policy in decisions. */
  readonly name: string;
  readonly app: string;
  readonly policyCache: PolicyCache;
}

/** How many warnings are written and remembered: names may come from requests, so there may be any number. */
const MOST_WARNINGS = 1000;
let warnings = 0;

type Usable = Extract<PolicyDefinition, { state: 'usable' }>;

/**
 * The limits of a policy that changes while the process runs. Their key holds only the name of the policy, and no
 * numbers, kinds or limiters, so all limiters that use the policy count in the same states.
 */
export class ManagedSource implements LimitSource {
  readonly keySuffix: string;
  readonly #options: ManagedSourceOptions;
  readonly #limitOptions: VersionedLimitOptions;
  /** The cache's count of changes when this source last read it. */
  #changes = -1;
  #definition: PolicyDefinition | undefined | null = null;
  #limit: Limit | undefined;
  /** Undefined where no subject has numbers of its own. */
  #overridden: OverrideLimits | undefined;

  constructor(options: ManagedSourceOptions) {
    const { localShare, limitOf } = options;
    this.#options = options;
    this.keySuffix = sourceKeySuffix(options.policy);
    this.#limitOptions = {
      keySuffix: this.keySuffix,
      localShare,
      limitOf,
      renew: (subject, found, since, timeoutMs) =>
        withinDeadline(this.#renew(subject, found, since), timeoutMs, { abandoned: false }),
      renewLocally: (subject, since) => {
        const current = this.current(subject);
        return this.#isForgotten(current, since) ? undefined : current?.fallback;
      },
    };
  }

  get name(): string {
    return this.#options.name;
  }

  /** The name of the policy in its source. */
  get policyName(): string {
    return this.#options.policy;
  }

  get onMissing(): OnUnconfigured {
    return this.#options.onUnconfigured;
  }

  get feed(): PolicyCache {
    return this.#options.policyCache;
  }

  /**
   * The current limit, the same object until the policy changes, or the override that concerns the subject. Undefined if
   * the policy cannot be used here.
   */
  current(subject?: string): Limit | undefined {
    const { policyCache } = this.#options;
    if (policyCache.changes !== this.#changes) this.#lookUp(policyCache);
    return this.#overridden === undefined || subject === undefined ? this.#limit : this.#overridden.of(subject);
  }

  #lookUp(policyCache: PolicyCache): void {
    const { policy, name } = this.#options;
    const definition = policyCache.get(policy);
    if (definition !== this.#definition) {
      this.#definition = definition;
      this.#limit = this.#limitOf(definition);
    }
    this.#changes = policyCache.changes;
    const { overrides: index } = policyCache;
    const overrides = index.of(policy);
    const limit = this.#limit;
    this.#overridden =
      overrides === undefined || limit === undefined || definition?.state !== 'usable'
        ? undefined
        : new OverrideLimits({
            name,
            base: { ...definition, limit },
            overrides,
            clock: index.clock,
            make: (overridden) => this.#overridingLimit(definition, overridden),
          });
  }

  /** Undefined, with a warning, where an override does not fit the policy or the limiter. */
  #overridingLimit(definition: Usable, overridden: VersionedPolicy): Limit | undefined {
    const { policy } = this.#options;
    const { algorithm } = definition.named;
    try {
      if (overridden.named.algorithm === algorithm) return versionedLimit(this.#limitOptions, overridden);
      throw new PolicyError('policy', `the policy is a ${algorithm.name}, and it a ${overridden.named.algorithm.name}`);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      warnOnce(
        'SLUICE_OVERRIDE_UNUSABLE',
        `an override of the managed policy ${policy} is not in force: ${error.message}. Its keys have the numbers of the policy; put it again, or remove it.`,
        policy,
      );
      return undefined;
    }
  }

  #limitOf(definition: PolicyDefinition | undefined): Limit | undefined {
    const why = this.#whyUnusable(definition);
    if (why !== undefined) {
      this.#warn(why, this.#howToPut());
      return undefined;
    }
    try {
      return this.#usableLimit(definition as Usable);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      this.#warn(error.message, 'put a policy that can be counted here');
      return undefined;
    }
  }

  #whyUnusable(definition: PolicyDefinition | undefined): string | undefined {
    switch (definition?.state) {
      case undefined:
        return 'there is no such policy';
      case 'removed':
        return 'it was removed';
      case 'newer':
      case 'broken':
        return definition.why;
      case 'usable':
        return definition.record.apps.includes(this.#options.app) ? undefined : 'this application is not on its list';
    }
  }

  #usableLimit({ version, record, named }: Usable): Limit {
    const { name } = this.#options;
    const [before] = record.earlier.filter(({ policy }) => policy !== undefined);
    return versionedLimit(this.#limitOptions, {
      named: { ...named, name },
      version,
      // The last earlier version is sent with every call. An older one is sent when a state of it is found.
      sent: before === undefined ? [] : [before.version],
      all: record.earlier.map((earlier) => earlier.version),
      earlier: (earlier) => earlierVersion(name, record, earlier),
    });
  }

  /**
   * The limit with which a stale request is repeated.
   *
   * @param found - The version of a state that the limit of the request did not know.
   * @throws (rejects) StoreError `SLUICE_POLICY_STALE` if the source does not know it either, or the error of the
   * source.
   */
  async #renew(subject: string, found: number | undefined, since?: number): Promise<Limit | undefined> {
    const known = this.current(subject)?.policyVersion?.version;
    if (found === undefined || known === undefined || found > known) await this.feed.load();
    const limit = this.current(subject);
    const definition = this.#definition;
    if (this.#isForgotten(limit, since)) return undefined;
    if (limit?.policyVersion === undefined || definition?.state !== 'usable' || found === undefined) return limit;
    const { policyVersion } = limit;
    // The version in a state comes from the source. If the source does not know it now, the source has lost it, or an
    // override has ended by the clock of another process.
    if (found > policyVersion.version) return this.#overridden?.seenAt(subject, found) ?? fail();
    if (found === policyVersion.version || policyVersion.earlier.has(found)) return limit;
    const converted =
      this.#overridden?.earlier(subject, found, policyVersion.version) ??
      earlierVersion(this.#options.name, definition.record, found);
    const earlier = new Map([...policyVersion.earlier, [found, converted] as const]);
    return { ...limit, policyVersion: { ...policyVersion, earlier } };
  }

  /** Whether a change has reset all states since, so that units consumed before it cannot be refunded. */
  #isForgotten(limit: Limit | undefined, since: number | undefined): boolean {
    const definition = this.#definition;
    if (since === undefined || definition?.state !== 'usable') return false;
    return isResetBetween(definition.record, since, limit?.policyVersion?.version ?? definition.version);
  }

  #warn(why: string, help: string): void {
    const { policy, app, onUnconfigured } = this.#options;
    if (warnings === MOST_WARNINGS) return;
    const effect = onUnconfigured === 'deny' ? 'denied' : 'allowed';
    const rest = warnings === MOST_WARNINGS - 1 ? ' (This process writes no more of these warnings.)' : '';
    const isNew = warnOnce(
      'SLUICE_POLICY_UNCONFIGURED',
      `the application ${app} cannot use the managed policy ${policy}: ${why}. Its requests are ${effect} (onUnconfigured); ${help}.${rest}`,
      `${policy} ${app} ${why}`,
    );
    if (isNew) warnings++;
  }

  #howToPut(): string {
    const { policy, app } = this.#options;
    return `put it with policies.put(${JSON.stringify(policy)}, ...), with ${JSON.stringify(app)} among its apps`;
  }
}

function fail(): never {
  throw staleError();
}
