import type { PolicyDecision } from '@sluice/core';
import { fieldWriter } from '@sluice/core/http';
import type { Decided } from './decide.ts';
import type { HeaderValue } from './messages.ts';
import type { Outcome } from './outcomes.ts';

const writeFields = fieldWriter();
const NONE: readonly HeaderValue[] = [];
/** Clients bound the size of response fields: if there are many policies, those that deny come first. */
const MAX_POLICIES = 16;
/** Names that a field can hold. */
const WRITABLE = /^[ -~]{1,64}$/;

/**
 * Our header fields for the gateway's response: `RateLimit-Policy` and `RateLimit` with the policies that can deny the
 * request, and Retry-After if it was denied. Rules in quota mode count if they allowed it, or all if none did.
 */
export function makeHeaders({ outcomes, allowed }: Decided): readonly HeaderValue[] {
  if (outcomes.length === 0) return NONE;
  const binding = listBindingOutcomes(outcomes);
  const policies = makeNamesDistinct(binding);
  const headers: HeaderValue[] = [];
  const decision = binding[0]?.decision;
  if (decision !== undefined && policies.length > 0) {
    const shown = policies === decision.policies ? decision : { ...decision, policies };
    for (const { name, value } of writeFields(shown)) headers.push({ key: name, value });
  }
  if (allowed) return headers;
  const waitMs = findWait(outcomes);
  if (Number.isFinite(waitMs))
    headers.push({ key: 'Retry-After', value: String(Math.max(Math.ceil(waitMs / 1000), 1)) });
  return headers;
}

/** The outcomes that bind the client: none in shadow mode, and no refunds. */
function listBindingOutcomes(outcomes: readonly Outcome[]): readonly Outcome[] {
  const enforced = outcomes.every(isEnforced) ? outcomes : outcomes.filter(isEnforced);
  return enforced.some(isMetQuota) ? enforced.filter((outcome) => outcome.allowed || !isQuota(outcome)) : enforced;
}

/**
 * The policies of a response, under distinct names, as the draft requires: rules have their own `name`, or that of
 * their policy (for `rate_limit`, the unit). A second policy with the same name gets a number.
 */
function makeNamesDistinct(outcomes: readonly Outcome[]): readonly PolicyDecision[] {
  const [only] = outcomes;
  if (outcomes.length === 1 && only?.descriptor.rule.name === undefined) return only?.policies ?? [];
  const names = new Set<string>();
  const policies = outcomes.flatMap(renamed);
  const shown =
    policies.length <= MAX_POLICIES
      ? policies
      : policies.toSorted((one, other) => Number(one.allowed) - Number(other.allowed)).slice(0, MAX_POLICIES);
  return shown.map((policy) => ({ ...policy, name: distinct(policy.name, names) }));
}

function renamed({ descriptor, policies }: Outcome): readonly PolicyDecision[] {
  const { name } = descriptor.rule;
  if (name === undefined || !WRITABLE.test(name)) return policies;
  return policies.map((policy) => ({ ...policy, name }));
}

function distinct(name: string, names: Set<string>): string {
  let candidate = name;
  for (let i = 2; names.has(candidate); i++) candidate = `${name}-${String(i)}`;
  names.add(candidate);
  return candidate;
}

/**
 * How long until the request can be allowed: the longest wait of all rules that deny it, but the shortest of those in
 * quota mode. Infinity if waiting does not help, or nothing is known.
 */
function findWait(outcomes: readonly Outcome[]): number {
  let longestMs = -Infinity;
  let quotaMs: number | undefined;
  for (const outcome of outcomes) {
    if (outcome.allowed || !isEnforced(outcome)) continue;
    const waitMs = getWait(outcome);
    if (isQuota(outcome)) quotaMs = Math.min(quotaMs ?? Infinity, waitMs);
    else longestMs = Math.max(longestMs, waitMs);
  }
  return quotaMs === undefined || outcomes.some(isMetQuota) ? longestMs : Math.max(longestMs, quotaMs);
}

function getWait({ policies }: Outcome): number {
  if (policies.length === 0) return Infinity;
  let waitMs = 0;
  for (const { allowed, retryAfterMs } of policies) {
    if (!allowed) waitMs = Math.max(waitMs, retryAfterMs ?? Infinity);
  }
  return waitMs;
}

function isEnforced({ descriptor }: Outcome): boolean {
  return !descriptor.rule.shadowMode && !descriptor.isRefund;
}

function isMetQuota(outcome: Outcome): boolean {
  return isQuota(outcome) && outcome.allowed;
}

function isQuota({ descriptor }: Outcome): boolean {
  return descriptor.rule.quotaMode;
}
