import type { Candidate } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import { GeneralLane } from './general-lane.ts';
import type { Lane, TableOf } from './lane.ts';
import { ShortLane } from './short-lane.ts';

/** The pass of a candidate, by the shortest way that decides as stores do. */
export function laneOf({ limits }: Candidate, clients: KeySpec, tableOf: TableOf): Lane {
  const [only] = limits;
  const [policy] = only?.policies ?? [];
  const isOne = limits.length === 1 && only?.policies.length === 1 && only.key.text === clients.text;
  return isOne && policy !== undefined
    ? new ShortLane(policy, tableOf(clients))
    : new GeneralLane(limits, clients, tableOf);
}
