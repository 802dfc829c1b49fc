import { settleKeys, type LimiterCore } from '@sluice/core/spi';
import type { Entrance } from '../access.ts';
import { CallError, Status } from '../grpc/status.ts';
import { makeWant } from '../limits.ts';
import type { Service } from '../service.ts';
import type { RateLimitRequest } from './messages.ts';
import { decideTogether, type Outcome } from './outcomes.ts';
import { makePlan, type LimitedDescriptor, type Plan } from './plan.ts';

/** The caller, and how long it waits. */
export interface Caller {
  readonly entrance: Entrance;
  /** The field `authorization` of the request. */
  readonly authorization: string | undefined;
  /** The decision's deadline, by `performance.now()`. Default: the service's `timeoutMs` from now. */
  readonly endMs: number | undefined;
}

/** The result for a request. */
export interface Decided {
  readonly request: RateLimitRequest;
  readonly plan: Plan;
  readonly allowed: boolean;
  /** One per limited descriptor, those that can deny first. */
  readonly outcomes: readonly Outcome[];
}

/**
 * Decides about a request: finds its rules and consumes.
 *
 * - Descriptors that enforce are one decision, all or nothing.
 * - Each descriptor in shadow mode is decided separately, and never denies.
 * - Of those in quota mode, the ones that allow are charged. If none allows, the request is denied and takes nothing.
 * - Checks (hits of 0) come before everything else, so that a request that a check denies takes nothing, not even for
 * a moment. With checks and hits in one request, the decision needs two calls to the store.
 * - Refunds are made regardless of the decision about the others.
 *
 * @throws (rejects) CallError for a bad request (see {@link makePlan}), and the core's errors.
 */
export async function decide(service: Service, request: RateLimitRequest, caller: Caller): Promise<Decided> {
  const plan = makePlan(request, service, () => service.access.allows(caller.entrance, caller.authorization));
  // One decision has the store's own time; several share it.
  const endMs = caller.endMs ?? (plan.isPlain ? undefined : performance.now() + service.timeoutMs);
  const calls = new Calls(service.core, endMs);
  const counted = plan.limited.filter(({ isRefund }) => !isRefund);
  // All of this is asked in one turn, so that it is one call of the store.
  const [refunded, shadow, decided] = await Promise.all([
    Promise.all(plan.limited.filter(({ isRefund }) => isRefund).map((descriptor) => calls.refund(descriptor))),
    Promise.all(counted.filter(({ rule }) => rule.shadowMode).map((descriptor) => calls.one(descriptor))),
    calls.enforce(
      counted.filter(({ rule }) => !rule.shadowMode),
      // A rule in quota mode and shadow mode allows, whatever its limit says, and so one in quota mode does.
      counted.some(({ rule }) => rule.shadowMode && rule.quotaMode),
    ),
  ]);
  return { request, plan, allowed: decided.allowed, outcomes: [...decided.outcomes, ...shadow, ...refunded] };
}

/** The result for the descriptors of a request that can deny it. */
interface Enforced {
  readonly allowed: boolean;
  readonly outcomes: readonly Outcome[];
}

/** The calls of one request, until an instant by `performance.now()`. */
class Calls {
  readonly #core: LimiterCore;
  readonly #endMs: number | undefined;

  constructor(core: LimiterCore, endMs: number | undefined) {
    this.#core = core;
    this.#endMs = endMs;
  }

  /** Decides about a single descriptor. */
  async one(descriptor: LimitedDescriptor): Promise<Outcome> {
    const [outcome] = await this.#together(descriptor.isCheck ? 'peek' : 'take', [descriptor]);
    return outcome as Outcome;
  }

  /**
   * Refunds units, then peeks at what is left.
   *
   * @throws (rejects) CallError `UNAVAILABLE` if the store has not answered in time; it may still refund them.
   */
  async refund(descriptor: LimitedDescriptor): Promise<Outcome> {
    const { limit, key, cost, isCheck } = descriptor;
    const want = makeWant(limit, key, isCheck ? 0 : cost);
    await this.#inTime(settleKeys(this.#core, 'give', [want]));
    const decision = await this.#core.decide('peek', [{ ...want, cost: 0 }], { endMs: this.#endMs });
    return { descriptor, allowed: true, policies: decision.policies, decision };
  }

  /**
   * Decides about descriptors that can deny: all that enforce, and at least one of those in quota mode.
   *
   * @param isQuotaMet - Whether another descriptor in quota mode allows.
   */
  async enforce(descriptors: readonly LimitedDescriptor[], isQuotaMet: boolean): Promise<Enforced> {
    const checks = descriptors.filter(({ isCheck }) => isCheck);
    const hits = descriptors.filter(({ isCheck }) => !isCheck);
    if (checks.length === 0) return this.#take(hits, isQuotaMet);
    const [checked, shown] = await Promise.all([
      Promise.all(checks.map((check) => this.one(check))),
      hits.length === 0 ? [] : this.#together('peek', hits),
    ]);
    const looked = [...checked, ...shown];
    if (!allow(looked, isQuotaMet)) return { allowed: false, outcomes: looked };
    if (hits.length === 0) return { allowed: true, outcomes: checked };
    const exhausted = shown.filter(({ allowed }) => !allowed);
    const left = shown.filter(({ allowed }) => allowed).map(({ descriptor }) => descriptor);
    const isMet = isQuotaMet || checked.some(({ descriptor, allowed }) => descriptor.rule.quotaMode && allowed);
    const taken = await this.#take(left, isMet);
    return { ...taken, outcomes: [...checked, ...taken.outcomes, ...exhausted] };
  }

  /**
   * Takes units. With descriptors of both kinds, all are tried in one decision: those in quota mode that deny are left
   * out of the next one, so that nothing is taken before everything needed is known to allow.
   */
  async #take(descriptors: readonly LimitedDescriptor[], isQuotaMet: boolean): Promise<Enforced> {
    if (descriptors.every(({ rule }) => rule.quotaMode)) {
      const outcomes = await Promise.all(descriptors.map((descriptor) => this.one(descriptor)));
      return { allowed: allow(outcomes, isQuotaMet), outcomes };
    }
    let left = descriptors;
    const exhausted: Outcome[] = [];
    for (;;) {
      const outcomes = await this.#together('take', left);
      const isAllowed = outcomes.every(({ allowed }) => allowed);
      if (isAllowed || !allow([...outcomes, ...exhausted], isQuotaMet)) {
        return { allowed: isAllowed, outcomes: [...outcomes, ...exhausted] };
      }
      exhausted.push(...outcomes.filter(({ allowed }) => !allowed));
      left = outcomes.filter(({ allowed }) => allowed).map(({ descriptor }) => descriptor);
    }
  }

  async #inTime(work: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => {
          reject(new CallError(Status.UNAVAILABLE, 'the store did not answer in time; the refund may have been made'));
        },
        Number(this.#endMs) - performance.now(),
      );
    });
    return Promise.race([work, late]).finally(() => {
      clearTimeout(timer);
    });
  }

  #together(op: 'take' | 'peek', descriptors: readonly LimitedDescriptor[]): Promise<readonly Outcome[]> {
    return decideTogether(this.#core, op, descriptors, this.#endMs);
  }
}

/** Whether all descriptors that enforce allow, and one in quota mode does if there are any. */
function allow(outcomes: readonly Outcome[], isQuotaMet: boolean): boolean {
  const quotas = outcomes.filter(({ descriptor }) => descriptor.rule.quotaMode);
  const enforced = outcomes.filter(({ descriptor }) => !descriptor.rule.quotaMode);
  const isAllowed = ({ allowed }: Outcome): boolean => allowed;
  return enforced.every(isAllowed) && (isQuotaMet || quotas.length === 0 || quotas.some(isAllowed));
}
