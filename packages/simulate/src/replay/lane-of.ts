import type { Limit } from '@sluice/core';
import { isFastPathEligible } from '@sluice/core/spi';
import type { Candidate } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import { GeneralLane } from './general-lane.ts';
import type { Lane, TableOf } from './lane.ts';
import { ShortLane } from './short-lane.ts';

/** The pass of a candidate, by the shortest way that decides as stores do. */
export function laneOf(id: number, candidate: Candidate, clients: KeySpec, tableOf: TableOf): Lane {
  const { limits, select } = candidate;
  const [only] = limits;
  const areShort = select === undefined && limits.every(({ limit }) => isShort(limit));
  const isOne = limits.length === 1 && only?.key.text === clients.text && only.limit.policies.length === 1;
  return areShort && isOne
    ? new ShortLane(id, only, tableOf(clients))
    : new GeneralLane(id, { candidate, clients, areShort }, tableOf);
}

/**
 * Whether nothing but the states of its policies decides about a limit. Those of `slidingLog` are in memory here, too.
 */
function isShort(limit: Limit): boolean {
  return isFastPathEligible({
    ...limit,
    policies: limit.policies.map((named) => ({
      ...named,
      algorithm: { ...named.algorithm, summarize: undefined as never },
    })),
  });
}
