import { checkActual } from '../../values/cost.ts';
import type { Decision } from '../../engine/decision.ts';
import type { Settlements } from './settlements.ts';

/**
 * Units taken on an estimate, until the actual number is known: the result of {@link Limiter.reserve}. Its
 * functions need no `this`.
 *
 * Each call after the first does nothing, with two exceptions: one that rejected with `SLUICE_COST_INVALID` or
 * `SLUICE_BREAKER_OPEN` has done nothing, and can be repeated. A reservation that is never settled costs its
 * estimate.
 */
export interface Reservation {
  /** The decision of `consume(key, estimate)`. One that denies has taken nothing, and leaves nothing to settle. */
  readonly decision: Decision;

  /**
   * States how many units were used. Units of the estimate beyond those are refunded as by `refund`: to a window
   * until it ends, to a bucket up to its capacity. Units used beyond the estimate are charged whatever the limit
   * is, because they have been used: to the window of the estimate until it ends, and then to none; to a bucket at
   * any time, which may go below zero and denies until it is refilled. Over all policies and limits of one key in
   * one step; one round trip, none when the estimate was right.
   *
   * A decision of the local fallback is settled there, and one that no store made (outcome `unavailable` or
   * `unconfigured`) nowhere.
   *
   * @param actual - A whole number from 0 to 2^53 - 1.
   * @throws (rejects) RangeError or TypeError `SLUICE_COST_INVALID`; StoreError when the store fails or is late
   * (after `SLUICE_STORE_TIMEOUT` it may have happened); SluiceError `SLUICE_LIMITER_CLOSED`.
   */
  readonly settle: (actual: number) => Promise<void>;

  /** Refunds all of it: `settle(0)`. */
  readonly cancel: () => Promise<void>;
}

/** The reservation of a decision, all of whose parts have one cost. */
export function reservationOf(decision: Decision, settlements: Settlements): Reservation {
  const settle = async (actual: number): Promise<void> => {
    checkActual(actual);
    await settlements.settleAt(decision, actual);
  };
  return { decision, settle, cancel: () => settle(0) };
}
