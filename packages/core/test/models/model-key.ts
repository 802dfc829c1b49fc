import type { PartAnswer, PolicyDecision } from '@sluice/core';
import type { Receipt } from './model.ts';
import { ModelEscalation, type ModelRules } from './model-escalation.ts';
import { retryOf, standing, type ModelledPolicy } from './verdict.ts';

/** What is under one key, by the book: the models of its policies, a block, and what is remembered of refusals. */
export class ModelKey {
  readonly policies: readonly ModelledPolicy[];
  blockedUntilMs = 0n;

  escalation: ModelEscalation | undefined;

  constructor(policies: readonly ModelledPolicy[], rules?: ModelRules) {
    this.policies = policies;
    this.escalation = rules === undefined ? undefined : new ModelEscalation(rules);
  }

  /** What was over when the key was last written is forgotten, also by a clock that goes back. */
  written(atMs: number): void {
    if (this.blockedUntilMs <= BigInt(atMs)) this.blockedUntilMs = 0n;
    this.escalation = this.escalation?.known(BigInt(atMs));
  }

  unblock(): void {
    this.blockedUntilMs = 0n;
    this.escalation = this.escalation?.pardoned();
  }

  reset(): void {
    this.escalation = this.escalation?.reset();
    for (const one of this.policies) one.model = one.reference.model(one.policy);
  }

  refund(cost: number, receipts: readonly Receipt[], atMs: number): void {
    this.policies.forEach(({ model }, i) => {
      model.refund(BigInt(cost), receipts[i] ?? 0n, BigInt(atMs));
    });
  }

  overcharge(cost: number, receipts: readonly Receipt[], atMs: number): void {
    this.policies.forEach(({ model }, i) => {
      model.overcharge?.(BigInt(cost), receipts[i] ?? 0n, BigInt(atMs));
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
  const isOpen = ({ key }: ModelPart): boolean => key.blockedUntilMs <= atMs;
  const fits = ({ key, cost }: ModelPart): boolean =>
    key.policies.every(({ model }) => cost === 0 || model.fits(BigInt(cost), atMs));
  const admits = (part: ModelPart): boolean => isOpen(part) && fits(part);

  const taken = take && parts.every(admits);
  // Of those that would admit the cost, before anything is taken.
  const delays = parts.map(({ key, cost }) =>
    key.policies.map(({ model }) =>
      cost > 0 && model.fits(BigInt(cost), atMs) ? Number(model.delay?.(atMs) ?? 0n) : 0,
    ),
  );
  const refusals = parts.map((part) => (isOpen(part) && !fits(part) ? part.key.escalation?.refused(atMs) : undefined));
  const receipts = parts.map(({ key, cost }) =>
    taken && cost > 0 ? key.policies.map(({ model }) => model.charge(BigInt(cost), atMs)) : [],
  );
  const answers = parts.map(({ key, cost }, i): PartAnswer => {
    const refused = refusals[i];
    const blockedUntilMs = refused?.blockedUntilMs || key.blockedUntilMs;
    const blockedMs = blockedUntilMs > atMs ? Number(blockedUntilMs - atMs) : 0;
    const policies = key.policies.map((one, j): PolicyDecision => {
      const stands = standing(one, atMs);
      const retryAfterMs = taken || cost === 0 ? 0 : retryOf(one, BigInt(cost), atMs);
      return blockedMs > 0
        ? whileBlocked({ ...stands, retryAfterMs }, blockedMs)
        : { ...stands, allowed: retryAfterMs === 0, retryAfterMs, delayMs: delays[i]?.[j] ?? 0 };
    });
    const forgottenAfterMs = (refused?.after ?? key.escalation)?.forgottenAfterMs(atMs);
    return { blocked: blockedMs > 0, policies, ...(forgottenAfterMs === undefined ? {} : { forgottenAfterMs }) };
  });
  if (take) {
    parts.forEach(({ key }, i) => {
      const refused = refusals[i];
      if (refused === undefined) return;
      key.escalation = refused.after;
      key.blockedUntilMs = refused.blockedUntilMs;
    });
  }
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
