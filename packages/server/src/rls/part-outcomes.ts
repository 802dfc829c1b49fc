import type { Decision, PolicyDecision } from '@sluice/old-core';
import type { LimitRef } from '@sluice/old-core/spi';
import type { LimitedDescriptor } from './plan.ts';

/** The result for one descriptor. */
export interface Outcome {
  readonly descriptor: LimitedDescriptor;
  /** Whether its own limit allows it. */
  readonly allowed: boolean;
  /**
   * The decisions of its policies: none where the store failed and no fallback decided, or its managed policy is not
   * there.
   */
  readonly policies: readonly PolicyDecision[];
  /** The decision that it was a part of. */
  readonly decision: Decision;
}

/**
 * The outcome of each part of a decision, in order. Managed policies that are not there were left out of it, and allow.
 */
export function outcomesOf(descriptors: readonly LimitedDescriptor[], decision: Decision): readonly Outcome[] {
  const { policies, allowed } = decision;
  if (policies.length === 0) {
    return descriptors.map((descriptor) => ({ descriptor, allowed, policies, decision }));
  }
  const outcomes: Outcome[] = [];
  let next = 0;
  for (const descriptor of descriptors) {
    const start = next;
    next += countOf(descriptor.part.limit, policies[start]);
    const own = descriptors.length === 1 ? policies : policies.slice(start, next);
    outcomes.push({ descriptor, allowed: own.every((policy) => policy.allowed), policies: own, decision });
  }
  return outcomes;
}

/** How many policies of a decision are those of a limit, if `first` is the next one of the decision. */
function countOf(limit: LimitRef, first: PolicyDecision | undefined): number {
  if ('policies' in limit) return limit.policies.length;
  return first?.name === limit.name ? 1 : 0;
}
