import type { Decision } from '@sluice/old-core';
import { isPending } from '@sluice/old-core/spi';
import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import { Attempt } from './attempt.ts';
import { CallError, Status } from '../grpc/status.ts';
import type { RateLimitRequest } from './messages.ts';
import { outcomesOf, type Outcome } from './part-outcomes.ts';
import { planOf, type LimitedDescriptor, type OverrideRules, type Plan } from './plan.ts';

/** Who asks, and for how long. */
export interface Caller {
  readonly entrance: Entrance;
  /** The field `authorization` of the request. */
  readonly authorization: string | undefined;
  /** When the decision is late, by `performance.now()`. Default: in `timeoutMs` of the service. */
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
 * Decides about a request: finds its rules, and consumes.
 *
 * - Descriptors that enforce are one decision, all or nothing.
 * - Each in shadow mode is decided by itself, and never denies.
 * - Of those in quota mode the ones that allow are taken. The request is denied where none does, and then takes nothing.
 * - Checks (hits of 0) come before everything else, so that what a check denies takes nothing, not even for a moment: with a check
 *   and hits in one request the decision needs two calls of the store.
 * - Refunds are made whatever is decided about the others.
 *
 * @throws CallError for a bad request (see {@link planOf}), and `PERMISSION_DENIED` for refunds of a caller that may
 * not. Nothing is consumed then. Rejects with the core's errors.
 */
export function decide(
  service: Service,
  overrides: OverrideRules,
  request: RateLimitRequest,
  caller: Caller,
): Decided | Promise<Decided> {
  checkRefunds(service, request, caller);
  const plan = planOf(request, service.configuration, overrides);
  const { limited } = plan;
  if (limited.length === 0) return { request, plan, allowed: true, outcomes: [] };
  if (!plan.isPlain) return decideEach(service, request, plan, caller);
  const parts = limited.map(({ part }) => part);
  const decision = service.core.decide('consume', parts, 'local', caller.endMs);
  return isPending(decision)
    ? decision.then((decided) => plainly(request, plan, decided))
    : plainly(request, plan, decision);
}

function plainly(request: RateLimitRequest, plan: Plan, decision: Decision): Decided {
  return { request, plan, allowed: decision.allowed, outcomes: outcomesOf(plan.limited, decision) };
}

/** @throws CallError where a caller gives units back that may not. */
function checkRefunds(
  { access }: Service,
  { descriptors }: RateLimitRequest,
  { entrance, authorization }: Caller,
): void {
  for (const { isNegativeHits } of descriptors) {
    if (!isNegativeHits) continue;
    if (access.allows(entrance, authorization)) return;
    throw new CallError(
      Status.PERMISSION_DENIED,
      'is_negative_hits needs a private listener, or authorization: Bearer TOKEN with the token of the service; nothing was consumed',
    );
  }
}

async function decideEach(service: Service, request: RateLimitRequest, plan: Plan, caller: Caller): Promise<Decided> {
  const endMs = caller.endMs ?? performance.now() + service.timeoutMs;
  const attempt = new Attempt(service, endMs);
  const isShadow = ({ match }: LimitedDescriptor): boolean => match.rule.shadowMode;
  const counted = plan.limited.filter((descriptor) => !descriptor.isRefund);
  // All of this is asked in one turn, so that it is one call of the store.
  const [refunded, shadow, decided] = await Promise.all([
    Promise.all(plan.limited.filter(({ isRefund }) => isRefund).map((descriptor) => attempt.refund(descriptor))),
    Promise.all(counted.filter(isShadow).map((descriptor) => attempt.one(descriptor))),
    attempt.enforce(
      counted.filter((descriptor) => !isShadow(descriptor)),
      counted.some(isShadowQuota),
    ),
  ]);
  return { request, plan, allowed: decided.allowed, outcomes: [...decided.outcomes, ...shadow, ...refunded] };
}

/** A rule in quota mode and shadow mode allows, whatever its limit says, and so one in quota mode does. */
function isShadowQuota({ match: { rule } }: LimitedDescriptor): boolean {
  return rule.shadowMode && rule.quotaMode;
}
