import { checkActual } from './cost.ts';
import type { Decision } from './decision.ts';
import type { Settling } from './settling.ts';

/**
 * Units that were taken on an estimate, until it is known how many it was: what {@link Limiter.reserve} answers. Its
 * functions need no `this`.
 *
 * Each call after the first does nothing, with two exceptions: one that rejected with `SLUICE_COST_INVALID` or
 * `SLUICE_BREAKER_OPEN` has done nothing, and may be tried again. One that is never settled has cost its estimate.
 */
export interface Reservation {
  /** Of the estimate, as `consume` answers it. One that refuses has taken nothing, and there is nothing to settle. */
  readonly decision: Decision;

  /**
   * Says how many units were used. Of the estimate, what is more than those is given back as by `refund`: to a window
   * until it is over, to a bucket up to its capacity. What was used beyond the estimate is charged, whatever the limit
   * says, for it has happened: to the window that the estimate was taken from, until that is over, and then to none; to a
   * bucket at any time, which may go below zero and refuses until it is refilled. Over all policies and limits of one key in one
   * step; one round trip, none when the estimate was right.
   *
   * What another store counted in its place is settled there, and what nobody counted (outcome `unavailable` or
   * `unconfigured`) nowhere.
   *
   * @param actual - A whole number from 0 to 2^53 - 1.
   * @throws (rejects) RangeError or TypeError `SLUICE_COST_INVALID`; StoreError when the store fails or is late (after
   * `SLUICE_STORE_TIMEOUT` it may have happened); SluiceError `SLUICE_LIMITER_CLOSED`.
   */
  readonly settle: (actual: number) => Promise<void>;

  /** Gives all of it back, for it did not happen: `settle(0)`. */
  readonly cancel: () => Promise<void>;
}

/** A reservation of what a decision took, all of whose parts have one cost. */
export function reservationOf(decision: Decision, taken: Settling): Reservation {
  const settle = async (actual: number): Promise<void> => {
    checkActual(actual);
    await taken.settleAt(decision, actual);
  };
  return { decision, settle, cancel: () => settle(0) };
}
