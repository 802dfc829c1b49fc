/** The members that share a limit from one instant until the next epoch begins. */
export interface Epoch {
  /** When it began, by the membership's clock, in milliseconds since 1970; `-Infinity` if it has no beginning. */
  readonly fromMs: number;
  /** The weight of each member by its id: whole numbers from 1 to 1 000 000. */
  readonly members: Readonly<Record<string, number>>;
}

/** A reply of a registry that keeps time and history. */
export interface TimedConfirmation {
  /** `performance.now()` when the request was sent: this instance knows what the registry knew then. */
  readonly askedAtMs: number;
  /** `Date.now()` at the same moment, because `performance.now()` stops while a virtual machine is suspended. */
  readonly askedAtDateMs: number;
  /** The registry's clock when it replied, in whole milliseconds since 1970. It never goes back. */
  readonly atMs: number;
  /** Every epoch that began since the last confirmation, in order. */
  readonly epochs: readonly Epoch[];
  /**
   * Whether no epoch is missing between those of earlier confirmations and these. False in the first confirmation and
   * after a gap: then the members are those of the last epoch given here, from `atMs` on, and this instance counts as
   * no member before.
   */
  readonly continues: boolean;
  /** The longest `ttlMs` of any member, where members may differ. */
  readonly longestTtlMs?: number;
}

/**
 * A reply of a registry without time and history: the current members. Windows follow the clocks of the instances, so
 * at a boundary more than the limit may be allowed by as much as the clocks differ. Otherwise the limit holds as long as
 * all instances get the same answer and it changes at most once within `ttlMs`. An instance that gets no reply for
 * `ttlMs` counts as new afterwards, because others may have taken over its share.
 */
export interface UntimedConfirmation {
  readonly members: Readonly<Record<string, number>>;
  /** `performance.now()` when the request was sent. Absent: the members are those of this moment. */
  readonly askedAtMs?: number;
  /** `Date.now()` when the request was sent. */
  readonly askedAtDateMs?: number;
}

/** A reply of a registry: with time and history, which keeps the limit in every case, or without. */
export type Confirmation = TimedConfirmation | UntimedConfirmation;

/**
 * The instances that share a limit, as `splitStore` sees them. `redisMembership` and `fixedMembership` return one. To
 * use a service registry, implement these three members.
 */
export interface Membership {
  /** The id of this instance among the members. */
  readonly id: string;
  /** How long after its last message an instance stops being a member. `Infinity`: the members never change. */
  readonly ttlMs: number;
  /**
   * Joins. Calls `confirmed` after every reply of the registry; the first call may come at once or later. Only one
   * store at a time calls this.
   *
   * @param failed - Called with the error of each attempt that failed. The last one is the cause of
   * `SLUICE_SPLIT_UNCONFIRMED`.
   * @returns A function that stops the calls and leaves the membership.
   */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => Promise<void> | void;
}
