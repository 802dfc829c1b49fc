import type { AskedAt } from './local-time.ts';

/** The weight of each member by its id: whole numbers from 1 to 1 000 000. */
export type Members = Readonly<Record<string, number>>;

/** The members that share a limit from one instant until the next epoch begins. */
export interface Epoch {
  /** When it began, by the membership's clock, in milliseconds since 1970. */
  readonly fromMs: number;
  readonly members: Members;
}

/** A reply of a registry that keeps time and history. */
export interface TimedConfirmation extends AskedAt {
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
  /** The longest `ttlMs` of any member, if members may differ. */
  readonly longestTtlMs?: number;
}

/**
 * A reply of a registry without time and history: the current members. Windows follow the clocks of the instances, so
 * at a boundary more than the limit may be allowed by as much as the clocks differ. Otherwise the limit holds as long as
 * all instances get the same answer and it changes at most once within `ttlMs`. An instance that gets no reply for
 * `ttlMs` counts as new afterwards, because others may have taken over its share.
 */
export interface UntimedConfirmation extends AskedAt {
  readonly members: Members;
}

/** A reply of a registry: with time and history, which keeps the limit in every case, or without. */
export type Confirmation = TimedConfirmation | UntimedConfirmation;

/** The instances that share limits, as `splitStore` sees them. */
export interface Membership {
  /** The id of this instance among the members. */
  readonly id: string;
  /** How long after its last message an instance stops being a member. `Infinity`: the members never change. */
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

/** How long `close` waits for the reply to the last message. */
const MAX_LEAVE_MS = 1000;

/** Resolves when the work is done, and at the latest after a second: `close` does not wait for a registry that hangs. */
export async function withinLeaveTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MAX_LEAVE_MS);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
