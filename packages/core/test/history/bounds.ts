import type { Policy } from '@sluice/core';
import { referenceOf } from '../models/index.ts';
import type { Decided, Floating } from './explain.ts';

/** What was counted of one policy of one key. */
export interface Count {
  /** Intervals that were looked at. */
  readonly intervals: number;
  /** The largest share of the bound that was reached in one of them: 1 is all of it. */
  readonly closest: number;
  /** The first interval that saw more than the bound. */
  readonly overrun?: { readonly fromMs: number; readonly toMs: number; readonly units: number; readonly most: number };
}

/**
 * Counts what was admitted in every interval that begins and ends with an admitted unit, and holds it to the table of
 * design.md §5. Units of unknown calls count as not taken. Units that may have been given back in the interval are
 * taken off, and intervals in which the key may have been reset are passed over.
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
    let taken = 0;
    for (let k = i; k < instants.length; k++) {
      const [toMs, units] = instants[k] as [number, number];
      const touches = (one: Floating): boolean => one.fromMs <= toMs && one.untilMs >= fromMs;
      if (resets.some(touches)) break;
      taken += units;
      const back = refunds.reduce((sum, one) => (touches(one) ? sum + one.call.cost : sum), 0);
      const bound = Number(most(policy, BigInt(toMs - fromMs), refunds.length > 0));
      intervals++;
      closest = Math.max(closest, (taken - back) / bound);
      if (taken - back > bound)
        return { intervals, closest, overrun: { fromMs, toMs, units: taken - back, most: bound } };
    }
  }
  return { intervals, closest };
}
