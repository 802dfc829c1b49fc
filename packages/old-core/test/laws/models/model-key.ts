import type { PartAnswer, PolicyDecision } from '@sluice/old-core';
import type { Receipt } from './model.ts';
import { ModelEscalation, type ModelRules } from './model-escalation.ts';
import { retryOf, peekModel, type ModelledPolicy } from './verdict.ts';

/** The state of one key by the specification: the models of its policies, a block, and the denial count. */
export class ModelKey {
  readonly policies: readonly ModelledPolicy[];
  blockedUntilMs = 0n;

  escalation: ModelEscalation | undefined;

  constructor(policies: readonly ModelledPolicy[], rules?: ModelRules) {
    this.policies = policies;
    this.escalation = rules === undefined ? undefined : new ModelEscalation(rules);
  }

  /** What had expired when the key was last written stays forgotten, even when the clock goes back. */
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

  refundNewest(cost: number, atMs: number): void {
    for (const { model } of this.policies) model.refundNewest?.(BigInt(cost), BigInt(atMs));
  }

  chargeNow(cost: number, atMs: number): void {
    for (const { model } of this.policies) model.chargeNow?.(BigInt(cost), BigInt(atMs));
  }
}

export interface ModelPart {
  readonly key: ModelKey;
  readonly cost: number;
}

/** All or nothing over several keys. Returns receipts per part and policy, when units were consumed. */
export function decideByModel(
  parts: readonly ModelPart[],
  at: number,
  take: boolean,
): { answers: PartAnswer[]; receipts: Receipt[][] } {
  const atMs = BigInt(at);
  const isOpen = ({ key }: ModelPart): boolean => key.blockedUntilMs <= atMs;
  const fits = ({ key, cost }: ModelPart): boolean =>
    key.policies.every(({ model }) => cost === 0 || model.fits(BigInt(cost), atMs));
  const allows = (part: ModelPart): boolean => isOpen(part) && fits(part);

  const consumed = take && parts.every(allows);
  // Of those that would allow the cost, before anything is consumed.
  const delays = parts.map(({ key, cost }) =>
    key.policies.map(({ model }) =>
      cost > 0 && model.fits(BigInt(cost), atMs) ? Number(model.delay?.(atMs) ?? 0n) : 0,
    ),
  );
  // What a policy denies itself, although its key is not blocked, counts where the policy says so.
  const deniedCosts = parts.flatMap((part) =>
    !take || !isOpen(part)
      ? []
      : part.key.policies.flatMap(({ model }) =>
          model.countsDenied === true && part.cost > 0 && !model.fits(BigInt(part.cost), atMs)
            ? [{ model, cost: BigInt(part.cost) }]
            : [],
        ),
  );
  const retries = parts.map(({ key, cost }) =>
    key.policies.map((one) => (consumed || cost === 0 ? 0 : retryOf(one, BigInt(cost), atMs))),
  );
  const denials = parts.map((part) => (isOpen(part) && !fits(part) ? part.key.escalation?.denied(atMs) : undefined));
  const receipts = parts.map(({ key, cost }) =>
    consumed && cost > 0 ? key.policies.map(({ model }) => model.charge(BigInt(cost), atMs)) : [],
  );
  for (const { model, cost } of deniedCosts) model.chargeNow?.(cost, atMs);
  const answers = parts.map(({ key }, i): PartAnswer => {
    const denied = denials[i];
    const blockedUntilMs = denied?.blockedUntilMs || key.blockedUntilMs;
    const blockedMs = blockedUntilMs > atMs ? Number(blockedUntilMs - atMs) : 0;
    const policies = key.policies.map((one, j): PolicyDecision => {
      const decision = peekModel(one, atMs);
      const retryAfterMs = retries[i]?.[j] as number | null;
      return blockedMs > 0
        ? whileBlocked({ ...decision, retryAfterMs }, blockedMs)
        : { ...decision, allowed: retryAfterMs === 0, retryAfterMs, delayMs: delays[i]?.[j] ?? 0 };
    });
    const forgottenAfterMs = (denied?.after ?? key.escalation)?.forgottenAfterMs(atMs);
    return { blocked: blockedMs > 0, policies, ...(forgottenAfterMs === undefined ? {} : { forgottenAfterMs }) };
  });
  if (take) {
    parts.forEach(({ key }, i) => {
      const denied = denials[i];
      if (denied === undefined) return;
      key.escalation = denied.after;
      key.blockedUntilMs = denied.blockedUntilMs;
    });
  }
  return { answers, receipts };
}

/** Nothing is allowed before the block ends, nor before the policy itself allows it. */
function whileBlocked(decision: PolicyDecision, blockedMs: number): PolicyDecision {
  return {
    ...decision,
    allowed: false,
    remaining: 0,
    retryAfterMs: decision.retryAfterMs === null ? null : Math.max(decision.retryAfterMs, blockedMs),
    resetAfterMs: Math.max(decision.resetAfterMs, blockedMs),
    nextAfterMs:
      decision.limit === 0 ? null : decision.remaining > 0 ? blockedMs : Math.max(decision.nextAfterMs ?? 0, blockedMs),
  };
}
