import type { Decision, PolicyDecision } from '@sluice/core';
import type { LimiterCore, Want } from '@sluice/core/spi';
import { makeWant } from '../limits.ts';
import type { LimitedDescriptor } from './plan.ts';

/** The result for one descriptor. */
export interface Outcome {
  readonly descriptor: LimitedDescriptor;
  /** Whether its own limit allows it. */
  readonly allowed: boolean;
  /**
   * The decisions of its policies: none if the store failed and no fallback decided, or a managed policy does not
   * exist.
   */
  readonly policies: readonly PolicyDecision[];
  /** The decision that it was a part of. */
  readonly decision: Decision;
}

/** Decides over descriptors together, until `endMs` by `performance.now()`: all or nothing. */
export async function decideTogether(
  core: LimiterCore,
  op: 'take' | 'peek',
  descriptors: readonly LimitedDescriptor[],
  endMs: number | undefined,
): Promise<readonly Outcome[]> {
  const places: number[] = [];
  const wants = makeWants(descriptors, places);
  return readOutcomes(descriptors, wants, places, await core.decide(op, wants, { endMs }));
}

/**
 * The wants of descriptors, one per key: units counted under the same key add up. If their limits differ, because
 * requests bring some, the lowest counts.
 *
 * @param places - Receives the place of each descriptor among the wants.
 */
function makeWants(descriptors: readonly LimitedDescriptor[], places: number[]): readonly Want[] {
  const wants: Want[] = [];
  const known = descriptors.length === 1 ? undefined : new Map<string, number>();
  for (const { limit, key, cost } of descriptors) {
    const want = makeWant(limit, key, cost);
    const { name = limit.name } = limit.fixed?.[0] ?? {};
    const counted = `${name} ${want.subject}`;
    const place = known?.get(counted) ?? wants.length;
    const before = wants[place];
    known?.set(counted, place);
    places.push(place);
    if (before === undefined) wants.push(want);
    else wants[place] = { ...(countUnits(want) < countUnits(before) ? want : before), cost: before.cost + cost };
  }
  return wants;
}

function countUnits({ limit }: Want): number {
  return limit.fixed?.[0]?.rule.limit ?? Infinity;
}

function readOutcomes(
  descriptors: readonly LimitedDescriptor[],
  wants: readonly Want[],
  places: readonly number[],
  decision: Decision,
): readonly Outcome[] {
  const { policies } = decision;
  let next = 0;
  const parts =
    wants.length === 1
      ? [policies]
      : wants.map(({ limit }) => policies.slice(next, (next += countOf(limit, policies[next]))));
  return descriptors.map((descriptor, i) => {
    const own = parts[places[i] ?? 0] ?? [];
    const allowed = policies.length === 0 ? decision.allowed : own.every((policy) => policy.allowed);
    return { descriptor, allowed, policies: own, decision };
  });
}

/** How many policies of a decision belong to a limit, starting with `first`. */
function countOf({ fixed, name }: Want['limit'], first: PolicyDecision | undefined): number {
  return fixed?.length ?? Number(first?.name === name);
}
