import type { PartAnswer, PolicyDecision } from '@sluice/core';
import type { Receipt } from './model.ts';
import { retryOf, standing, type ModelledPolicy } from './verdict.ts';

/** What is under one key, by the book: the models of its policies, and a block. */
export class ModelKey {
  readonly policies: readonly ModelledPolicy[];
  blockedUntilMs = 0n;

  constructor(policies: readonly ModelledPolicy[]) {
    this.policies = policies;
  }

  /** A block that was over when the key was last written is forgotten, also by a clock that goes back. */
  written(atMs: number): void {
    if (this.blockedUntilMs <= BigInt(atMs)) this.blockedUntilMs = 0n;
  }

  reset(): void {
    for (const one of this.policies) one.model = one.reference.model(one.policy);
  }

  refund(cost: number, receipts: readonly Receipt[], atMs: number): void {
    this.policies.forEach(({ model }, i) => {
      model.refund(BigInt(cost), receipts[i] ?? 0n, BigInt(atMs));
    });
  }
}

export interface ModelPart {
  readonly key: ModelKey;
  readonly cost: number;
}

/** Everything or nothing over several keys. Receipts per part and policy, when something was taken. */
export function decideByModel(
  parts: readonly ModelPart[],
  at: number,
  take: boolean,
): { answers: PartAnswer[]; receipts: Receipt[][] } {
  const atMs = BigInt(at);
  const admits = ({ key, cost }: ModelPart): boolean =>
    key.blockedUntilMs <= atMs && key.policies.every(({ model }) => cost === 0 || model.fits(BigInt(cost), atMs));

  const taken = take && parts.every(admits);
  const receipts = parts.map(({ key, cost }) =>
    taken && cost > 0 ? key.policies.map(({ model }) => model.charge(BigInt(cost), atMs)) : [],
  );
  const answers = parts.map(({ key, cost }) => {
    const blockedMs = key.blockedUntilMs > atMs ? Number(key.blockedUntilMs - atMs) : 0;
    const policies = key.policies.map((one): PolicyDecision => {
      const stands = standing(one, atMs);
      const retryAfterMs = taken || cost === 0 ? 0 : retryOf(one, BigInt(cost), atMs);
      return blockedMs > 0
        ? whileBlocked({ ...stands, retryAfterMs }, blockedMs)
        : { ...stands, allowed: retryAfterMs === 0, retryAfterMs };
    });
    return { blocked: blockedMs > 0, policies };
  });
  return { answers, receipts };
}

/** Nothing can be had before the block is over, nor before the policy itself would give it. */
function whileBlocked(stands: PolicyDecision, blockedMs: number): PolicyDecision {
  return {
    ...stands,
    allowed: false,
    remaining: 0,
    retryAfterMs: stands.retryAfterMs === null ? null : Math.max(stands.retryAfterMs, blockedMs),
    resetAfterMs: Math.max(stands.resetAfterMs, blockedMs),
    nextAfterMs: stands.remaining > 0 ? blockedMs : Math.max(stands.nextAfterMs ?? 0, blockedMs),
  };
}
