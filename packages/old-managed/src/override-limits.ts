import type { Limit, NamedPolicy, Policy } from '@sluice/old-core';
import { namePolicy } from '@sluice/old-core/spi';
import type { EarlierPolicy, PolicyRecord } from './policy-source.ts';
import { isResetBetween } from './read-record.ts';
import type { Earlier, VersionedPolicy } from './versioned-limit.ts';
import { endVersionOf, saidBy, type EarlierOverride, type Override } from './overrides/override-record.ts';
import { inForce, type InForce, type PolicyOverrides } from './overrides/policy-overrides.ts';
import type { SourceClock } from './overrides/source-clock.ts';

/** The policy that counts where no override does. */
export interface OverriddenPolicy {
  readonly named: NamedPolicy;
  readonly version: number;
  readonly record: PolicyRecord;
  readonly limit: Limit;
}

export interface OverrideLimitsOptions {
  /** The name of the policy in decisions. */
  readonly name: string;
  readonly base: OverriddenPolicy;
  readonly overrides: PolicyOverrides;
  readonly clock: SourceClock;
  /** Undefined where the limiter cannot count it: then the limit of the base counts. */
  readonly make: (policy: VersionedPolicy) => Limit | undefined;
}

interface KnownLimit extends InForce {
  readonly limit: Limit;
  /** Whether it is the limit of every subject that this override concerns first, at any time. */
  readonly isLasting: boolean;
}

/** At most twice as many limits are kept. */
const KEPT = 4096;

/**
 * The limits of subjects under the overrides of one policy. The version of a subject's limit grows with every change of
 * its numbers: it is the version of what is in force, or the later one at which an override that goes before it ended.
 */
export class OverrideLimits {
  readonly #options: OverrideLimitsOptions;
  /** By the override that concerns a subject first. */
  #recent = new Map<Override, KnownLimit>();
  #earlier: ReadonlyMap<Override, KnownLimit> = new Map();
  /** By their text: overrides with equal numbers and versions share a limit. */
  readonly #limits = new Map<string, Limit>();

  /** A decision asks several times in a row. Kept only for a limit that stays. */
  #lastSubject: string | undefined;
  #lastLimit: Limit | undefined;
  /** The last override that concerns many subjects and whose limit stays. */
  #lastOverride: Override | undefined;
  #limitOfLast: Limit | undefined;

  constructor(options: OverrideLimitsOptions) {
    this.#options = options;
  }

  of(subject: string): Limit {
    if (subject === this.#lastSubject && this.#lastLimit !== undefined) return this.#lastLimit;
    const { overrides, base } = this.#options;
    const first = overrides.first(subject);
    let limit: Limit | undefined = base.limit;
    if (first !== undefined) limit = first === this.#lastOverride ? this.#limitOfLast : this.#lastingLimit(first);
    if (limit === undefined) return this.#lookUp(subject, first as Override);
    this.#lastSubject = subject;
    this.#lastLimit = limit;
    return limit;
  }

  #lastingLimit(first: Override): Limit | undefined {
    const known = this.#recent.get(first);
    if (known?.isLasting !== true) return undefined;
    this.#lastOverride = first;
    this.#limitOfLast = known.limit;
    return known.limit;
  }

  /** The limit of a subject for a process that has seen this version: an override has ended by its clock. */
  seenAt(subject: string, version: number): Limit | undefined {
    const hasEnded = (override: Override): boolean =>
      override.untilMs !== Infinity && endVersionOf(override) <= version;
    const found = inForce(this.#options.overrides.all(subject), hasEnded);
    const limit = this.#made(found, undefined);
    return limit.policyVersion?.version === version ? limit : undefined;
  }

  /** How the states of a subject that an earlier version wrote are converted. */
  earlier(subject: string, version: number, to: number): Earlier {
    return this.#converted(this.#policyAt(subject, version), version, to);
  }

  #lookUp(subject: string, first: Override): Limit {
    const { overrides, clock } = this.#options;
    const nowMs = clock.nowMs();
    const found = inForce(overrides.all(subject), ({ untilMs }) => untilMs <= nowMs);
    const known = this.#recent.get(first) ?? this.#earlier.get(first);
    if (known !== undefined && known.override === found.override && known.endedAt === found.endedAt) {
      this.#remember(first, known);
      return known.limit;
    }
    const limit = this.#made(found, first);
    this.#remember(first, { ...found, limit, isLasting: found.override === first && first.untilMs === Infinity });
    return limit;
  }

  #remember(first: Override, known: KnownLimit): void {
    if (this.#recent.size >= KEPT) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(first, known);
  }

  /** @param first - What its history tells is known before a state needs it. */
  #made({ override, endedAt }: InForce, first: Override | undefined): Limit {
    const { base, name, make } = this.#options;
    const version = Math.max(override?.version ?? base.version, endedAt);
    if (override === undefined && version === base.version) return base.limit;
    const history = historyOf(override, first, base.record, version);
    const named = { ...(override?.named ?? base.named), name };
    const versions = [...history.keys()];
    const text = JSON.stringify([version, named.policy, versions]);
    const known = this.#limits.get(text);
    if (known !== undefined) return known;
    const limit =
      make({
        named,
        version,
        // A state of before the override is written once more, and then has its version: naming others would cost every call.
        sent: [],
        all: versions,
        earlier: (before) => this.#converted(history.get(before), before, version),
      }) ?? base.limit;
    if (this.#limits.size === KEPT) this.#limits.clear();
    this.#limits.set(text, limit);
    return limit;
  }

  #converted(policy: Policy | undefined, version: number, to: number): Earlier {
    const { name, base } = this.#options;
    const isReset = isResetBetween(base.record, version, to);
    if (policy === undefined && !isReset) return 'unknown';
    try {
      const policies = policy === undefined ? [] : [namePolicy(policy, name)];
      return { policies, carryOver: isReset ? 'reset' : 'keep' };
    } catch {
      return 'unknown'; // an algorithm that this release does not know
    }
  }

  /** What counted for a subject at a version. */
  #policyAt(subject: string, version: number): Policy | undefined {
    for (const override of this.#options.overrides.all(subject)) {
      const then = [saidBy(override), ...override.earlier].find((one) => one.version <= version);
      if (then?.policy !== undefined && !(then.untilMs !== undefined && endVersionOf(then) <= version)) {
        return then.policy;
      }
    }
    return versionsOf(this.#options.base.record).find((one) => one.version <= version)?.policy;
  }
}

/** Policies of the versions before one, those first of which most states are. */
function historyOf(
  override: Override | undefined,
  first: Override | undefined,
  record: PolicyRecord,
  to: number,
): ReadonlyMap<number, Policy | undefined> {
  const history = new Map<number, Policy | undefined>();
  const add = ({ version, policy }: EarlierOverride | EarlierPolicy): void => {
    if (version < to && policy !== undefined && !history.has(version)) history.set(version, policy);
  };
  const [before, ...others] = versionsOf(record).filter(({ version }) => version < to);
  if (before !== undefined) add(before);
  for (const one of new Set([first, override])) {
    if (one !== undefined) [saidBy(one), ...one.earlier].forEach(add);
  }
  others.forEach(add);
  return history;
}

function versionsOf(record: PolicyRecord): readonly EarlierPolicy[] {
  return [record, ...record.earlier];
}
