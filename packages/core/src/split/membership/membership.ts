import type { AskedAt } from './membership-clock.ts';

/** The weight of each member by its id: whole numbers from 1 to 1 000 000. */
export type Members = Readonly<Record<string, number>>;

/**
 * A reply of a registry: its present members. With `time` the limit is kept in every case. Without it, windows follow
 * the clocks of the instances, which may allow more than the limit at a boundary if the clocks differ; apart from that,
 * the limit holds as long as all instances get the same answer and it changes at most once within `ttlMs`. An instance
 * that gets no reply for `ttlMs` counts as new afterwards, because others may have taken over its share.
 */
export interface Confirmation extends AskedAt {
  readonly members: Members;
  /** Set by a registry that keeps time and counts how often its members change. */
  readonly time?: RegistryTime;
}

/** Instants are milliseconds since 1970, by the registry's clock. */
export interface RegistryTime {
  /** When it replied. It never goes back. */
  readonly atMs: number;
  /** When this instance became a member. If it differs from before, the instance was not a member in between. */
  readonly joinedAtMs: number;
  /** How often the members have changed so far. */
  readonly changes: number;
  /** When they last changed. */
  readonly fromMs: number;
  /** The longest `ttlMs` of any member. */
  readonly longestTtlMs: number;
}

/** The instances that share limits, as `splitStore` sees them. */
export interface Membership {
  /** The id of this instance among the members. */
  readonly id: string;
  /** How long after its last message an instance stops being a member. */
  readonly ttlMs: number;
  /**
   * Joins. Calls `confirmed` after every reply of the registry; the first call may come at once or later.
   *
   * @param failed - Called with the error of each attempt that failed. The last one is the cause of
   * `SLUICE_SPLIT_UNCONFIRMED`.
   * @returns A function that stops the calls and leaves the membership.
   */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => Promise<void> | void;
}

/** The largest weight of a member. The smallest is 1. */
export const MAX_WEIGHT = 1_000_000;

export function isWeight(given: unknown): given is number {
  return Number.isInteger(given) && Number(given) >= 1 && Number(given) <= MAX_WEIGHT;
}
