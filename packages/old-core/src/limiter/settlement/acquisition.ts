import type { Decision } from '../../engine/decision.ts';
import type { Settlements } from './settlements.ts';

/**
 * The result of {@link Limiter.acquire}: a decision and, where it allows, held slots. Its functions need no `this`.
 * Where the decision denies, or no store counted (outcome `unavailable` or `unconfigured`), nothing is held:
 * `release` does nothing, and `renew` returns false.
 */
export interface Acquisition {
  readonly decision: Decision;

  /**
   * Releases the slots, once; other units that the decision took, such as those of a window, stay taken. After a
   * failure it may be called again; slots that are never released expire after their `ttl`. Works after the limiter was
   * closed, too. One round trip; none where nothing is held, or where another acquisition of the same holder in this
   * process still holds the slots.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  readonly release: () => Promise<void>;

  /**
   * Makes the slots expire a `ttl` from now, and returns whether they were still held: once expired, they may
   * belong to others. Works after the limiter was closed, too. One round trip; none once a `ttl` has passed.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  readonly renew: () => Promise<boolean>;
}

export interface AcquireOptions {
  /**
   * Identifies who holds the slot: any text. Acquiring again with the same holder and cost returns the same slot,
   * so that an attempt whose answer was lost can be retried (until the retry, or its `ttl`, the first attempt keeps
   * its slot). Several acquisitions of one holder in this process hold the slot until all have released it; in another
   * process, the first release frees it. Other policies count each attempt. Default: a new holder.
   */
  holder?: string | undefined;
  /** Units, of every policy, and slots: a whole number, at least 1. Default 1. */
  cost?: number | undefined;
}

export function acquisition(decision: Decision, settlements: Settlements): Acquisition {
  const slots = settlements.acquiredSlotsOf(decision);
  let released: Promise<void> | undefined;
  return {
    decision,
    release: async () => {
      released ??= slots?.release().catch((error: unknown) => {
        released = undefined;
        throw error;
      });
      await released;
    },
    renew: async () => released === undefined && slots !== undefined && (await slots.renew()),
  };
}
