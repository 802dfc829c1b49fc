import type { Policy, PolicyDecision } from '@sluice/old-core';
import type { Model, Reference } from './model.ts';
import { referenceOf } from './index.ts';

/** One policy of a key, with its model. */
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

/** The numbers of a policy at an instant; every wait is found by a search for the first instant at which it ends. */
export function peekModel({ name, model }: ModelledPolicy, atMs: bigint): PolicyDecision {
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
    nextAfterMs: remaining === model.limit || model.reportsNext === false ? null : waitFor(hasMore, atMs),
    used: Number(model.used(atMs)),
    ...(model.unit === undefined ? {} : { unit: model.unit }),
  };
}

/** Until this cost is allowed; null when an unused key would deny it as well. */
export function retryOf({ model, policy, reference }: ModelledPolicy, cost: bigint, atMs: bigint): number | null {
  return reference.model(policy).fits(cost, atMs) ? waitFor((laterMs) => model.fits(cost, laterMs), atMs) : null;
}

/** The wait until a condition that stays true becomes true. */
function waitFor(isReached: (atMs: bigint) => boolean, atMs: bigint): number {
  if (isReached(atMs)) return 0;
  let tooShort = 0n;
  let enough = 1n;
  while (!isReached(atMs + enough)) [tooShort, enough] = [enough, enough * 2n];
  while (enough - tooShort > 1n) {
    const middle = (tooShort + enough) / 2n;
    if (isReached(atMs + middle)) enough = middle;
    else tooShort = middle;
  }
  return Number(enough);
}
