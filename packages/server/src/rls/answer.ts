import type { PolicyDecision } from '@sluice/core';
import { MS_OF_UNIT, UNIT_OF_NUMBER, UNITS, type Unit } from '../config/units.ts';
import type { Decided } from './decide.ts';
import { makeHeaders } from './headers.ts';
import {
  MAX_UINT32,
  OK,
  OVER_LIMIT,
  type CurrentLimit,
  type DescriptorStatus,
  type RateLimitResponse,
} from './messages.ts';
import { makeMetadata } from './metadata.ts';
import type { Outcome } from './outcomes.ts';
import type { Stats } from '../stats/stats.ts';

const SECONDS = 1000;
/** The windows that correspond to a unit. */
const UNIT_OF_MS: ReadonlyMap<number, Unit> = new Map(UNITS.map((unit) => [MS_OF_UNIT[unit], unit]));

/** The status of a descriptor without a limit. */
const UNLIMITED_BY_NO_RULE: DescriptorStatus = {
  code: OK,
  currentLimit: undefined,
  limitRemaining: 0,
  secondsUntilReset: undefined,
};
/** The status of a descriptor whose rule is `unlimited`. */
const UNLIMITED: DescriptorStatus = { ...UNLIMITED_BY_NO_RULE, limitRemaining: MAX_UINT32 };

/**
 * The response to a request that was decided: a status per descriptor, our header fields, and metadata. Counts it. In a denied
 * request the descriptors that would have allowed it are OK, and state what is left without it.
 */
export function makeResponse(decided: Decided, stats: Stats): RateLimitResponse {
  const { request, plan, outcomes, allowed } = decided;
  const statuses = request.descriptors.map((_, i) => (plan.unlimited.has(i) ? UNLIMITED : UNLIMITED_BY_NO_RULE));
  for (const outcome of outcomes) {
    statuses[outcome.descriptor.index] = makeStatus(outcome);
    count(stats, outcome);
  }
  return {
    overallCode: allowed ? OK : OVER_LIMIT,
    statuses,
    responseHeadersToAdd: makeHeaders(decided),
    dynamicMetadata: makeMetadata(decided),
  };
}

/** Counts what was decided, by rule. Refunds are no hits. */
function count(stats: Stats, { descriptor, allowed, policies, decision: { source } }: Outcome): void {
  const { rule, metric, cost, isCheck, isRefund } = descriptor;
  const { shadowMode: isShadow } = rule;
  if (!isRefund) stats.count(metric, { hits: isCheck ? 0 : cost, allowed, isShadow, policies, source });
}

function makeStatus(outcome: Outcome): DescriptorStatus {
  const { descriptor, policies, allowed, decision } = outcome;
  const { rule } = descriptor;
  const code = allowed || rule.shadowMode ? OK : OVER_LIMIT;
  const policy = findDecidingPolicy(policies);
  if (policy === undefined) return { ...UNLIMITED_BY_NO_RULE, code };
  return {
    code,
    currentLimit: makeCurrentLimit(outcome, policy),
    limitRemaining: allowed ? Math.min(policy.remaining, MAX_UINT32) : 0,
    secondsUntilReset: Math.ceil(
      (rule.rateLimit === undefined ? policy.resetAfterMs : getMsToNextWindow(policy, decision.atMs)) / SECONDS,
    ),
  };
}

/** The policy of a rule that denies longest, or has the smallest share of its limit left. */
function findDecidingPolicy(policies: readonly PolicyDecision[]): PolicyDecision | undefined {
  if (policies.length <= 1) return policies[0];
  return policies.reduce((first, second) => (isCloser(second, first) ? second : first));
}

function isCloser(one: PolicyDecision, other: PolicyDecision): boolean {
  if (one.allowed !== other.allowed) return !one.allowed;
  if (!one.allowed) return (one.retryAfterMs ?? Infinity) > (other.retryAfterMs ?? Infinity);
  return one.remaining / Math.max(one.limit, 1) < other.remaining / Math.max(other.limit, 1);
}

/** The windows of `rate_limit` are whole multiples of their unit since 1970. */
function getMsToNextWindow({ windowMs }: PolicyDecision, atMs: number): number {
  return windowMs - (atMs % windowMs);
}

/** Undefined if the policy's window is not a unit of the protocol. */
function makeCurrentLimit({ descriptor }: Outcome, { limit, windowMs }: PolicyDecision): CurrentLimit | undefined {
  const { rateLimit, name } = descriptor.rule;
  const unit = rateLimit?.unit ?? UNIT_OF_MS.get(windowMs);
  if (unit === undefined) return undefined;
  return {
    requestsPerUnit: Math.min(rateLimit?.requestsPerUnit ?? limit, MAX_UINT32),
    unit: UNIT_OF_NUMBER.indexOf(unit),
    name,
  };
}
