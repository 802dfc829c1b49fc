import type { Limit, PolicyVersion, Store } from '../engine/store.ts';
import type { LimitSource, OnUnconfigured } from '../engine/limit-source.ts';
import type { NamedPolicy } from '../engine/policy.ts';

export const MAKES_SOURCE: unique symbol = Symbol('makes a source');
export const KEEPS_LIMITS: unique symbol = Symbol('keeps limits');

/** Stands in place of a policy, and names one that is kept elsewhere: `managed(name)` of `@sluice/core/managed` returns it. */
export interface LimitReference {
  readonly name: string;
  /**
   * Makes the source of its limits for one limiter.
   *
   * @param name - The name of its policy in decisions.
   * @throws PolicyError where an option of the limiter rules it out, or is missing.
   */
  readonly [MAKES_SOURCE]: (name: string, settings: SourceSettings) => LimitSource;
}

/** Where policies are kept that references name: `createPolicies(source)` of `@sluice/core/managed` returns it. */
export interface LimitRegistry {
  readonly [KEEPS_LIMITS]: true;
}

/** What a limiter passes to its references: the options that they use, and how it counts. */
export interface SourceSettings {
  /** The name of the limiter. */
  readonly limiter: string;
  readonly store: Store;
  readonly app: string | undefined;
  readonly policies: LimitRegistry | undefined;
  readonly onUnconfigured: OnUnconfigured;
  readonly localShare: number;
  /**
   * The limit of these policies as this limiter counts them.
   *
   * @throws PolicyError where the limiter or its store cannot count them.
   */
  readonly limitOf: (policies: readonly NamedPolicy[], keySuffix: string, policyVersion?: PolicyVersion) => Limit;
}

export function isReference(policy: unknown): policy is LimitReference {
  return typeof policy === 'object' && policy !== null && MAKES_SOURCE in policy;
}

export function isRegistry(value: unknown): value is LimitRegistry {
  return typeof value === 'object' && value !== null && KEEPS_LIMITS in value;
}
