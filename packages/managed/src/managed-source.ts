import { PolicyError, type EarlierVersion, type Limit, type NamedPolicy, type OnUnconfigured } from '@sluice/core';
import {
  AllEarlier,
  sourceKeySuffix,
  staleError,
  warnOnce,
  withFallback,
  type LimitSource,
  type SourceSettings,
} from '@sluice/core/spi';
import { earlierVersion, isResetSince, type PolicyDefinition } from './read-record.ts';
import type { PolicyCache } from './policy-cache.ts';
import type { PolicyRecord } from './policy-source.ts';

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
  #definition: PolicyDefinition | undefined | null = null;
  #limit: Limit | undefined;

  constructor(options: ManagedSourceOptions) {
    this.#options = options;
    this.keySuffix = sourceKeySuffix(options.policy);
  }

  get name(): string {
    return this.#options.name;
  }

  get onMissing(): OnUnconfigured {
    return this.#options.onUnconfigured;
  }

  get feed(): PolicyCache {
    return this.#options.policyCache;
  }

  /** The current limit, the same object until the policy changes. Undefined if the policy cannot be used here. */
  current(): Limit | undefined {
    const { policyCache, policy } = this.#options;
    const definition = policyCache.get(policy);
    if (definition !== this.#definition) {
      this.#definition = definition;
      this.#limit = this.#limitOf(definition);
    }
    return this.#limit;
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
    const { name, localShare, limitOf } = this.#options;
    const [before] = record.earlier.filter(({ policy }) => policy !== undefined);
    const limit = limitOf([{ ...named, name }], this.keySuffix, {
      version,
      // The last earlier version is sent with every call. An older one is sent when a state of it is found.
      earlier: new Map(before === undefined ? [] : [[before.version, this.#earlier(record, before.version)]]),
      renew: (_subject, found, since) => this.#renew(found, since),
    });
    return { ...limit, fallback: this.#fallback(limit, record, localShare) };
  }

  /** The limit of the fallback store. Nothing is sent there, so it has all earlier versions. */
  #fallback(limit: Limit, record: PolicyRecord, localShare: number): Limit {
    const sharedOf = (policies: readonly NamedPolicy[]): readonly NamedPolicy[] =>
      withFallback({ policies, keySuffix: limit.keySuffix }, localShare).fallback?.policies ?? policies;
    const earlier = record.earlier.map(({ version }): [number, EarlierVersion | 'unknown'] => {
      const policyVersion = this.#earlier(record, version);
      if (policyVersion === 'unknown') return [version, policyVersion];
      try {
        return [version, { ...policyVersion, policies: sharedOf(policyVersion.policies) }];
      } catch {
        return [version, 'unknown']; // the share of this version cannot be counted
      }
    });
    const version = limit.policyVersion?.version ?? 0;
    const renew = (_subject: string, _found: number | undefined, since?: number): Promise<Limit | undefined> => {
      const current = this.current();
      return Promise.resolve(this.#isForgotten(since) ? undefined : current?.fallback);
    };
    return {
      ...limit,
      policies: limit.fallback?.policies ?? limit.policies,
      policyVersion: { version, earlier: new AllEarlier(earlier, version), renew },
    };
  }

  #earlier(record: PolicyRecord, version: number): EarlierVersion | 'unknown' {
    return earlierVersion(this.#options.name, record, version);
  }

  /**
   * The limit with which a stale request is repeated.
   *
   * @param found - The version of a state that the limit of the request did not know.
   * @throws (rejects) StoreError `SLUICE_POLICY_STALE` if the source does not know it either, or the error of the
   * source.
   */
  async #renew(found: number | undefined, since?: number): Promise<Limit | undefined> {
    const known = this.current()?.policyVersion?.version;
    if (found === undefined || known === undefined || found > known) await this.feed.load();
    const limit = this.current();
    const definition = this.#definition;
    if (this.#isForgotten(since)) return undefined;
    if (limit?.policyVersion === undefined || definition?.state !== 'usable' || found === undefined) return limit;
    const { policyVersion } = limit;
    // The version in a state comes from the source. If the source does not know it now, the source has lost it.
    if (found > policyVersion.version) throw staleError();
    if (found === policyVersion.version || policyVersion.earlier.has(found)) return limit;
    const earlier = new Map([...policyVersion.earlier, [found, this.#earlier(definition.record, found)] as const]);
    return { ...limit, policyVersion: { ...policyVersion, earlier } };
  }

  /** Whether a change has reset all states since, so that units consumed before it cannot be refunded. */
  #isForgotten(since: number | undefined): boolean {
    const definition = this.#definition;
    if (since === undefined || definition?.state !== 'usable' || since >= definition.version) return false;
    return isResetSince(definition.record, since);
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
