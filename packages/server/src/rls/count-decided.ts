import type { PolicyDecision } from '@sluice/core';
import type { Stats } from '../stats/stats.ts';
import type { Decided } from './decide.ts';

/** envoyproxy/ratelimit's `near_limit`. */
const NEAR = 0.8;

/** Counts what was decided, by rule. Refunds are no hits. */
export function countDecided(stats: Stats, { outcomes }: Decided): void {
  for (const { descriptor, allowed, policies, decision } of outcomes) {
    if (descriptor.isRefund) continue;
    const { match, cost, isCheck } = descriptor;
    stats.count(match.metric, {
      hits: isCheck ? 0 : cost,
      allowed,
      isShadow: match.rule.shadowMode,
      isNear: policies.some(isNear),
      isCached: decision.source === 'cache',
    });
  }
}

function isNear({ used, limit }: PolicyDecision): boolean {
  return used > limit * NEAR;
}
