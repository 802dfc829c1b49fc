import type { Limit, NamedPolicy, OnUnconfigured, Policy } from '@sluice/old-core';
import { ByTarget, type Target } from '@sluice/old-managed';
import {
  keySuffixOf,
  MAKES_SOURCE,
  namePolicy,
  type LimitReference,
  type LimitSource,
  type SourceSettings,
} from '@sluice/old-core/spi';

/** Other numbers that a file gives one key, or all keys with a prefix. */
export interface KeyOverride {
  readonly target: Target;
  /** The new numbers, of the same kind as the policy they override. */
  readonly policy: Policy;
  /** When it ends, milliseconds since 1970. Infinity: it does not. */
  readonly untilMs: number;
}

/** A policy of a file, and what overrides it. It stands in place of a policy. */
export interface OverriddenPolicy extends LimitReference {
  readonly policy: Policy;
  readonly overrides: readonly KeyOverride[];
}

/** @param name - That of the policy in decisions. */
export function overriddenPolicy(name: string, policy: Policy, overrides: readonly KeyOverride[]): OverriddenPolicy {
  return {
    ...{ name, policy, overrides },
    [MAKES_SOURCE]: (policyName, settings) => new OverriddenLimit(policyName, { policy, overrides }, settings),
  };
}

interface LimitUntil {
  readonly limit: Limit;
  readonly untilMs: number;
}

/**
 * The limits of a policy that a file overrides for some keys. All have one state for a key: as after a change of the
 * file, what was used stays used. An override ends by the clock of this process.
 */
class OverriddenLimit implements LimitSource {
  readonly name: string;
  readonly keySuffix: string;
  readonly onMissing: OnUnconfigured = 'deny';
  readonly #base: Limit;
  readonly #overrides = new ByTarget<LimitUntil>();

  constructor(
    name: string,
    { policy, overrides }: Pick<OverriddenPolicy, 'policy' | 'overrides'>,
    { limiter, limitOf }: SourceSettings,
  ) {
    const named = namePolicy(policy, name);
    this.name = name;
    this.keySuffix = keySuffixOf(limiter, [named]);
    /** By the text of their numbers: keys with equal ones share a limit. */
    const limits = new Map<string, Limit>();
    const limitFor = (one: NamedPolicy): Limit => {
      const numbers = JSON.stringify(one.policy);
      const limit = limits.get(numbers) ?? limitOf([one], this.keySuffix);
      limits.set(numbers, limit);
      return limit;
    };
    this.#base = limitFor(named);
    for (const { target, policy: other, untilMs } of overrides) {
      this.#overrides.set(target, { limit: limitFor(namePolicy(other, name)), untilMs });
    }
  }

  current(subject?: string): Limit {
    const first = subject === undefined ? undefined : this.#overrides.first(subject);
    if (first === undefined || subject === undefined) return this.#base;
    if (first.untilMs === Infinity) return first.limit;
    const nowMs = Date.now();
    return this.#overrides.all(subject).find(({ untilMs }) => untilMs > nowMs)?.limit ?? this.#base;
  }
}
