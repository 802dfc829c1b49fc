import type { Policy, PolicyDecision } from '@sluice/core';
import type { Model, Reference } from './model.ts';
import { referenceOf } from './index.ts';

/** One policy of a key, as its model sees it. */
export interface ModelledPolicy {
  readonly name: string;
  readonly policy: Policy;
  readonly reference: Reference;
  model: Model;
}

export function modelled(name: string, policy: Policy): ModelledPolicy {
  const reference = referenceOf(policy);
  return { name, policy, reference, model: reference.model(policy) };
}

/** How a policy stands at an instant, every wait found by looking for the first instant at which it is over. */
export function standing({ name, model }: ModelledPolicy, atMs: bigint): PolicyDecision {
  const remaining = model.remaining(atMs);
  const hasMore = (laterMs: bigint): boolean => model.remaining(laterMs) > remaining;
  return {
    name,
    allowed: true,
    limit: Number(model.limit),
    remaining: Number(remaining),
    retryAfterMs: 0,
    resetAfterMs: waitFor((laterMs) => model.isUnused(laterMs), atMs),
    delayMs: 0,
    windowMs: Number(model.windowMs),
    nextAfterMs: remaining === model.limit || model.tellsNext === false ? null : waitFor(hasMore, atMs),
    ...(model.unit === undefined ? {} : { unit: model.unit }),
  };
}

/** Until this cost is admitted; null when an unused key would refuse it as well. */
export function retryOf({ model, policy, reference }: ModelledPolicy, cost: bigint, atMs: bigint): number | null {
  return reference.model(policy).fits(cost, atMs) ? waitFor((laterMs) => model.fits(cost, laterMs), atMs) : null;
}

/** The wait until something that stays true, once it is, becomes true. */
function waitFor(isOver: (atMs: bigint) => boolean, atMs: bigint): number {
  if (isOver(atMs)) return 0;
  let tooShort = 0n;
  let enough = 1n;
  while (!isOver(atMs + enough)) [tooShort, enough] = [enough, enough * 2n];
  while (enough - tooShort > 1n) {
    const middle = (tooShort + enough) / 2n;
    if (isOver(atMs + middle)) enough = middle;
    else tooShort = middle;
  }
  return Number(enough);
}
