import type { Nums } from './numbers.ts';

/**
 * What a family of policies knows about a state, whose first number is an instant at which it was already there. `t` is
 * never before that, and `until` is when the charged units expire: 0 for units charged now. A function that changes a
 * state may change the given list, and returns the new state.
 */
export interface Family {
  /** Whether this kind of policy could have written these whole numbers. */
  reads(s: Nums): boolean;
  /** Units that are used at t. */
  used(p: Nums, s: Nums, t: number): number;
  /** Units that are free at t; below 0 after a charge beyond the limit. */
  left(p: Nums, s: Nums, t: number): number;
  /**
   * When `units` (at most the limit) will be free if nothing else happens; t if they are free now. Not for an empty
   * state.
   */
  freeAt(p: Nums, s: Nums, units: number, t: number, holder: number): number;
  /**
   * Moves instants after t back to t: a clock that ran ahead wrote them. Returns whether there were any. Not for an
   * empty state.
   */
  move(s: Nums, t: number): boolean;
  /** When the state, which is not empty, will be as if never used. */
  emptyAt(p: Nums, s: Nums): number;
  /** The same by the numbers of the policy that wrote it: when its value may be removed. */
  endsAt(s: Nums): number;
  /** The state with `units` added. */
  add(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums;
  /** The state without `units`: those that expire at `until`, or the newest if it is 0. */
  give(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums;
}
