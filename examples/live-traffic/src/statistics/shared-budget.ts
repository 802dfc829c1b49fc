import type { Decision, DecisionSource } from '@sluice/express';

export interface BudgetUse {
  readonly limit: number;
  /** Units consumed in the current window, by every process that shares the store. */
  readonly used: number;
  /** Those of them that were allowed by this process. */
  readonly usedHere: number;
}

/** Follows one key of one fixed window: the units of this process, beside all units in the store. */
export class SharedBudget {
  readonly #policy: string;
  readonly #source: DecisionSource;
  #windowEndsAtMs = 0;
  #use: BudgetUse | undefined;

  constructor(policy: string, source: DecisionSource) {
    this.#policy = policy;
    this.#source = source;
  }

  record(decision: Decision): void {
    const policy = decision.policies.find(({ name }) => name === this.#policy);
    // The fallback of the store does not count the other processes.
    if (policy === undefined || decision.source !== this.#source) return;
    const endsAtMs = decision.atMs + policy.resetAfterMs;
    const before = endsAtMs === this.#windowEndsAtMs ? (this.#use?.usedHere ?? 0) : 0;
    this.#windowEndsAtMs = endsAtMs;
    this.#use = {
      limit: policy.limit,
      used: policy.limit - policy.remaining,
      usedHere: before + (decision.allowed ? decision.cost : 0),
    };
  }

  /** Undefined before the first decision. */
  get use(): BudgetUse | undefined {
    return this.#use;
  }
}
