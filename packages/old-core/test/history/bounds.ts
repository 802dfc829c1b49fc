import type { Policy } from '@sluice/old-core';
import { referenceOf } from '../laws/models/index.ts';
import type { Decided, Floating } from './explain.ts';

/** The counts of one policy of one key. */
export interface Count {
  /** The number of intervals checked. */
  readonly intervals: number;
  /** The largest share of the bound that one of them reached: 1 is the bound. */
  readonly closest: number;
  /** The first interval with more than the bound. */
  readonly overrun?: { readonly fromMs: number; readonly toMs: number; readonly units: number; readonly most: number };
}

/**
 * Counts the allowed units of every interval that begins and ends with one, and compares them with the table of
 * design.md §5. Units of unknown calls count as not consumed. Units that may have been refunded in the interval are
 * subtracted, and intervals in which the key may have been reset are skipped.
 */
export function countUnits(policy: Policy, decided: readonly Decided[], floating: readonly Floating[]): Count {
  const { most } = referenceOf(policy);
  const unitsAt = new Map<number, number>();
  for (const { op, cost, reply } of decided) {
    if (op === 'consume' && reply.allowed) unitsAt.set(reply.atMs, (unitsAt.get(reply.atMs) ?? 0) + cost);
  }
  const instants = [...unitsAt].sort(([a], [b]) => a - b);
  const refunds = floating.filter(({ call }) => call.op === 'refund');
  const resets = floating.filter(({ call }) => call.op === 'reset');
  let intervals = 0;
  let closest = 0;
  for (const [i, [fromMs]] of instants.entries()) {
    let consumed = 0;
    for (let k = i; k < instants.length; k++) {
      const [toMs, units] = instants[k] as [number, number];
      const touches = (one: Floating): boolean => one.fromMs <= toMs && one.untilMs >= fromMs;
      if (resets.some(touches)) break;
      consumed += units;
      const back = refunds.reduce((sum, one) => (touches(one) ? sum + one.call.cost : sum), 0);
      const bound = Number(most(policy, BigInt(toMs - fromMs), refunds.length > 0));
      intervals++;
      closest = Math.max(closest, (consumed - back) / bound);
      if (consumed - back > bound)
        return { intervals, closest, overrun: { fromMs, toMs, units: consumed - back, most: bound } };
    }
  }
  return { intervals, closest };
}
