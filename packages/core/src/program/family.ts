import type { Nums } from './numbers.ts';

/**
 * What a family of policies knows about a state, whose first number is an instant at which it was already there. `t` is
 * never before that, and `until` is when the charged units leave: 0 for units that are charged now. A function that
 * changes a state may change the list it was given, and returns the state after.
 */
export interface Family {
  /** Whether this kind of policy could have written these whole numbers. */
  reads(s: Nums): boolean;
  /** Units that are used at t. */
  used(p: Nums, s: Nums, t: number): number;
  /** Units that are free at t; below 0 after a charge beyond the limit. */
  left(p: Nums, s: Nums, t: number): number;
  /** From when `units`, at most the limit, are free if nothing else happens; t if they are free now. Not of an empty state. */
  freeAt(p: Nums, s: Nums, units: number, t: number, holder: number): number;
  /** Moves to t what lies after it: a clock that ran ahead wrote it. Whether there was such; not of an empty state. */
  move(s: Nums, t: number): boolean;
  /** From when the state, which is not empty, is as if never used. */
  emptyAt(p: Nums, s: Nums): number;
  /** The same by the numbers of the policy that wrote it: when its value may be forgotten. */
  endsAt(s: Nums): number;
  /** The state with `units` more. */
  add(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums;
  /** The state with `units` less: those that leave at `until`, or with 0 the newest. */
  give(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums;
}
