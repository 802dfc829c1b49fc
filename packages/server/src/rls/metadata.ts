import type { Decided } from './decide.ts';
import type { Outcome } from './outcomes.ts';

/**
 * The metadata of a response, which Envoy passes to logs and later filters: what decided (`source`), the policy and the
 * outcome; the delay of a pacing policy (`delay_ms`); and the merged `metadata` of the rules that allow. Undefined if
 * no limit applies.
 */
export function makeMetadata({ outcomes, allowed }: Decided): Readonly<Record<string, unknown>> | undefined {
  const deciding = findDecidingOutcome(outcomes, allowed);
  if (deciding === undefined) return undefined;
  const { decision } = deciding;
  const metadata: Record<string, unknown> = {
    source: decision.source,
    policy: decision.policy,
    outcome: decision.allowed === allowed ? decision.outcome : allowed ? 'allowed' : 'denied',
  };
  if (allowed && decision.delayMs > 0) metadata['delay_ms'] = decision.delayMs;
  const ofRules = makeRuleMetadata(outcomes);
  if (ofRules !== undefined) metadata['metadata'] = ofRules;
  return metadata;
}

/** The first outcome that agrees with the whole decision. */
function findDecidingOutcome(outcomes: readonly Outcome[], allowed: boolean): Outcome | undefined {
  return outcomes.find((outcome) => outcome.decision.allowed === allowed) ?? outcomes[0];
}

function makeRuleMetadata(outcomes: readonly Outcome[]): Readonly<Record<string, unknown>> | undefined {
  let merged: Record<string, unknown> | undefined;
  for (const { descriptor, allowed } of outcomes) {
    const { metadata } = descriptor.rule;
    if (allowed && metadata !== undefined) merge((merged ??= {}), metadata);
  }
  return merged;
}

/** Adds missing fields, recursively for maps on both sides. */
function merge(into: Record<string, unknown>, from: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(from)) {
    const before = into[key];
    if (before === undefined) into[key] = isMap(value) ? structuredClone(value) : value;
    else if (isMap(before) && isMap(value)) merge(before, value);
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
