import type { Decision } from '@sluice/old-core';
import type { Service } from '../service.ts';
import { CallError, Status } from '../grpc/status.ts';
import { outcomesOf, type Outcome } from './part-outcomes.ts';
import type { LimitedDescriptor } from './plan.ts';

/** The result for the descriptors of a request that can deny it. */
export interface Enforced {
  readonly allowed: boolean;
  readonly outcomes: readonly Outcome[];
}

/** The calls of one request that needs more than one decision, until an instant by `performance.now()`. */
export class Attempt {
  readonly #service: Service;
  readonly #endMs: number;

  constructor(service: Service, endMs: number) {
    this.#service = service;
    this.#endMs = endMs;
  }

  /** Decides about a descriptor by itself. */
  async one(descriptor: LimitedDescriptor): Promise<Outcome> {
    const [outcome] = await this.#together(descriptor.isCheck ? 'peek' : 'consume', [descriptor]);
    return outcome as Outcome;
  }

  /** Gives units back, and looks at what is left then. */
  async refund(descriptor: LimitedDescriptor): Promise<Outcome> {
    const { part, isCheck } = descriptor;
    const cost = isCheck ? 0 : part.cost;
    const { core } = this.#service;
    // Sent one after the other, so that the second sees what the first has done.
    const refunded = this.#inTime(core.settleKeys('refund', [{ ...part, cost }]));
    const decision = core.decide('peek', [{ ...part, cost: 0 }], 'local', this.#endMs);
    const [shown] = await Promise.all([decision, refunded]);
    return { descriptor, allowed: true, policies: shown.policies, decision: shown };
  }

  /**
   * Decides about descriptors that can deny: all that enforce, and at least one of those in quota mode.
   *
   * @param isQuotaMet - Whether a descriptor in quota mode that is not among them allows.
   */
  async enforce(descriptors: readonly LimitedDescriptor[], isQuotaMet: boolean): Promise<Enforced> {
    const checks = descriptors.filter(({ isCheck }) => isCheck);
    const hits = descriptors.filter(({ isCheck }) => !isCheck);
    if (checks.length === 0) return this.#consume(hits, isQuotaMet);
    const [checked, shown] = await Promise.all([
      Promise.all(checks.map((check) => this.one(check))),
      hits.length === 0 ? [] : this.#together('peek', hits),
    ]);
    const looked = [...checked, ...shown];
    if (!allows(looked, isQuotaMet)) return { allowed: false, outcomes: looked };
    if (hits.length === 0) return { allowed: true, outcomes: checked };
    const exhausted = shown.filter(({ allowed }) => !allowed);
    const left = shown.filter(({ allowed }) => allowed).map(({ descriptor }) => descriptor);
    const consumed = await this.#consume(left, isQuotaMet || checked.some(isOfQuota));
    return { ...consumed, outcomes: [...checked, ...consumed.outcomes, ...exhausted] };
  }

  /**
   * Consumes. With descriptors of both kinds, all are tried in one decision: those in quota mode that deny are left out
   * of the next one, so that nothing is taken before it is known that everything needed allows.
   */
  async #consume(descriptors: readonly LimitedDescriptor[], isQuotaMet: boolean): Promise<Enforced> {
    if (descriptors.every(isQuota)) {
      const outcomes = await Promise.all(descriptors.map((descriptor) => this.one(descriptor)));
      return { allowed: allows(outcomes, isQuotaMet), outcomes };
    }
    let left = descriptors;
    const exhausted: Outcome[] = [];
    for (;;) {
      const outcomes = await this.#together('consume', left);
      const isAllowed = outcomes.every(({ allowed }) => allowed);
      if (isAllowed || !allows([...outcomes, ...exhausted], isQuotaMet)) {
        return { allowed: isAllowed, outcomes: [...outcomes, ...exhausted] };
      }
      exhausted.push(...outcomes.filter(({ allowed }) => !allowed));
      left = outcomes.filter(({ allowed }) => allowed).map(({ descriptor }) => descriptor);
    }
  }

  async #together(op: 'consume' | 'peek', descriptors: readonly LimitedDescriptor[]): Promise<readonly Outcome[]> {
    const parts = descriptors.map(({ part }) => part);
    const decision: Decision = await this.#service.core.decide(op, parts, 'local', this.#endMs);
    return outcomesOf(descriptors, decision);
  }

  /**
   * @throws (rejects) CallError `UNAVAILABLE` where the work takes longer than the call may. It may still be done then.
   */
  async #inTime(work: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => {
          reject(new CallError(Status.UNAVAILABLE, 'the store did not answer in time; the refund may have been made'));
        },
        Math.max(this.#endMs - performance.now(), 0),
      );
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whether all descriptors that enforce allow, and one in quota mode does if there are any. */
function allows(outcomes: readonly Outcome[], isQuotaMet: boolean): boolean {
  const quotas = outcomes.filter(({ descriptor }) => isQuota(descriptor));
  const enforced = outcomes.filter(({ descriptor }) => !isQuota(descriptor));
  return enforced.every(isAllowed) && (isQuotaMet || quotas.length === 0 || quotas.some(isAllowed));
}

function isAllowed({ allowed }: Outcome): boolean {
  return allowed;
}

function isOfQuota({ descriptor, allowed }: Outcome): boolean {
  return isQuota(descriptor) && allowed;
}

function isQuota({ match }: LimitedDescriptor): boolean {
  return match.rule.quotaMode;
}
