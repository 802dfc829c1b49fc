/** Who shares a limit from one instant on, until the next epoch begins. */
export interface Epoch {
  /** When it began, by the membership's clock, in milliseconds since 1970; `-Infinity` for what has always been. */
  readonly fromMs: number;
  /** The weight of each member by its id: whole numbers from 1 to 1 000 000. */
  readonly members: Readonly<Record<string, number>>;
}

/** An answer of a registry that keeps time and history. */
export interface TimedConfirmation {
  /** `performance.now()` when the registry was asked: what it knew then, this instance knows. */
  readonly askedAtMs: number;
  /** `Date.now()` at that same moment: `performance.now()` stands still while a virtual machine is suspended. */
  readonly askedAtDateMs: number;
  /** The registry's clock when it answered, in whole milliseconds since 1970. It never goes back. */
  readonly atMs: number;
  /** Every epoch that began since the last confirmation, in order. */
  readonly epochs: readonly Epoch[];
  /**
   * Whether nothing is missing between the epochs told before and these. False at first and after a gap: the members are
   * those of the last epoch told here, from `atMs` on, and this instance counts as none of them before.
   */
  readonly continues: boolean;
  /** The longest time after which any member is taken for gone, where members may differ in that. */
  readonly longestTtlMs?: number;
}

/**
 * An answer of a plain registry: who is a member now. Whoever comes and goes between two answers is never seen, each
 * instance learns of a change at a time of its own, and windows are counted by the clocks of the instances: more than
 * the limit may be admitted while members change, and by as much as the clocks differ at a window's boundary.
 */
export interface PlainConfirmation {
  readonly members: Readonly<Record<string, number>>;
}

/** What a registry answered: with time and history, by which the limit is kept whatever happens, or without. */
export type Confirmation = TimedConfirmation | PlainConfirmation;

/**
 * Who shares a limit: what `splitStore` needs to know. `redisMembership` is one, `fixedMembership` another; a service
 * registry becomes one with these three.
 */
export interface Membership {
  /** This instance among the members. */
  readonly id: string;
  /** How long after it was last heard of an instance is taken for gone. `Infinity`: the members never change. */
  readonly ttlMs: number;
  /**
   * Begins to tell who is a member: at once or later, and from then on whenever the registry has answered. Called by one
   * store at a time.
   *
   * @param failed - To be told of attempts that failed: the last one is the cause of `SLUICE_SPLIT_UNCONFIRMED`.
   * @returns What ends it, and makes this instance none of the members.
   */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => Promise<void> | void;
}
