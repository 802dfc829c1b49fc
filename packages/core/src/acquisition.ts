import type { Decision } from './decision.ts';

/**
 * What {@link Limiter.acquire} answers: a decision and, where it allows, slots that are held. Its functions need no `this`.
 * Where the decision refuses, or nobody counted (outcome `unavailable` or `unconfigured`), nothing is held: `release` does
 * nothing, and `renew` answers false.
 */
export interface Acquisition {
  readonly decision: Decision;

  /**
   * Releases the slots, once; what else the decision took, units of a window say, stays taken. After a failure it may be
   * called again; slots that are never released free themselves after their `ttl`. One round trip; none where nothing is
   * held.
   *
   * @throws (rejects) StoreError when the store fails or is late; SluiceError `SLUICE_LIMITER_CLOSED`: release before the
   * limiter is closed, or the slots stay until their `ttl` is over.
   */
  readonly release: () => Promise<void>;

  /**
   * Has the slots expire a `ttl` from now, and answers whether they are still held: when they have expired meanwhile, others
   * may have them. One round trip.
   *
   * @throws (rejects) StoreError when the store fails or is late; SluiceError `SLUICE_LIMITER_CLOSED`: release before the
   * limiter is closed, or the slots stay until their `ttl` is over.
   */
  readonly renew: () => Promise<boolean>;
}

export interface AcquireOptions {
  /**
   * Who holds the slot: any text. Who holds one, and acquires as many units again, has it, and takes no other, so that an
   * attempt whose answer was lost can be made again (what the first one took is then kept until that, or its `ttl`). Policies
   * beside it count each attempt. Default: somebody new.
   */
  holder?: string;
  /** Units, of every policy, and slots: a whole number, at least 1. Default 1. */
  cost?: number;
}

/** What an acquisition needs of its limiter. */
export interface Holding {
  /** Whether all was still held. */
  renew(decision: Decision): Promise<boolean>;
  release(decision: Decision): Promise<void>;
}

export function acquisition(decision: Decision, holding: Holding): Acquisition {
  let released: Promise<void> | undefined;
  return {
    decision,
    release: async () => {
      released ??= holding.release(decision).catch((error: unknown) => {
        released = undefined;
        throw error;
      });
      await released;
    },
    renew: async () => released === undefined && decision.allowed && (await holding.renew(decision)),
  };
}
