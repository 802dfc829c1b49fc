import type { Stats } from '../stats/stats.ts';
import type { Decided } from './decide.ts';

/** Counts decisions by rule. Refunds are not hits. */
export function countDecided(stats: Stats, { outcomes }: Decided): void {
  for (const { descriptor, allowed, policies, decision } of outcomes) {
    if (descriptor.isRefund) continue;
    const { match, cost, isCheck } = descriptor;
    const { shadowMode: isShadow } = match.rule;
    stats.count(match.metric, { hits: isCheck ? 0 : cost, allowed, isShadow, policies, source: decision.source });
  }
}
