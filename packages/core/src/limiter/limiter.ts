import type { Status } from '../observe/live-limiters.ts';
import type { Policy } from '../policies/index.ts';
import type { SlidingWindowOptions } from '../policies/sliding-window.ts';
import type { Duration } from '../values/duration.ts';
import { flag, optional, valueThat, withDefault } from '../values/shape.ts';
import type { Optional, Options, Reader, WithDefault } from '../values/shape.ts';
import type { Decision } from './decision.ts';
import type { LimitOptions } from './limits.ts';
import type { LimiterCoreOptions } from './options.ts';
import type { PolicyFunction } from './policy-function.ts';
import type { WaitOptions } from './wait.ts';

const text: Reader<string> = /* @__PURE__ */ valueThat((given) => typeof given === 'string', 'a text');

export const EDIT = {
  /** Who edits. Kept in the timeline: see `readEvents`. */
  by: optional(text) as Optional<string>,
  /** Why. */
  reason: optional(text) as Optional<string>,
};

export const BLOCK: typeof EDIT & { readonly reset: WithDefault<boolean> } = {
  ...EDIT,
  /** Whether what the key has used is forgotten in the same step, as by `reset`. Default `false`. */
  reset: withDefault(flag, false),
};

export interface EditOptions extends Options<typeof EDIT> {}
export interface BlockOptions extends Options<typeof BLOCK> {}

/** Options that exclude others. */
type Without<Names extends string> = { [Name in Names]?: never };

export interface SingleLimiterOptions extends LimiterCoreOptions, Without<'limit' | 'window' | 'limits'> {
  /**
   * All must allow, or nothing is taken. Several need names. Or a function `(key, { app, policies })` that returns the
   * policy of a key, such as `managed('orders')`.
   */
  policy: Policy | readonly Policy[] | PolicyFunction;
}

/** Short for the policy `slidingWindow({ limit, window })`. */
export interface ShortLimiterOptions
  extends LimiterCoreOptions, Without<'policy' | 'limits'>, Pick<SlidingWindowOptions, 'limit' | 'window'> {}

export interface LimitsLimiterOptions<Limits extends readonly LimitOptions[] = readonly LimitOptions[]>
  extends LimiterCoreOptions, Without<'policy' | 'limit' | 'window'> {
  /** Instead of `policy`: limits with a key each, decided together. */
  limits: Limits;
}

export type LimiterOptions = SingleLimiterOptions | ShortLimiterOptions | LimitsLimiterOptions;

/** Keys by the name of their limit. One that is left out, or undefined, leaves its limit out. */
export type KeysOf<Limits extends readonly LimitOptions[]> = {
  readonly [Name in Limits[number]['name']]?: string | undefined;
};

/**
 * Units taken on an estimate, until the actual number is known: the result of {@link Limiter.reserve}. Its
 * functions need no `this`, and only the first call counts. A reservation that is never settled costs its estimate.
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
   * `unconfigured`) nowhere. A failure of the store is not reported here: what surely was not sent is sent when the store
   * is back, within 10 s; what may have happened is not sent again.
   *
   * @param actual - A whole number from 0 to 2^53 - 1.
   * @throws (rejects) RangeError or TypeError `SLUICE_COST_INVALID`: nothing is settled, and it can be called again.
   */
  readonly settle: (actual: number) => Promise<void>;

  /** Refunds all of it: `settle(0)`. */
  readonly cancel: () => Promise<void>;
}

/**
 * The result of {@link Limiter.acquire}: a decision and, if it allows, held slots. Its functions need no `this`.
 * If the decision denies, or no store counted (outcome `unavailable` or `unconfigured`), nothing is held:
 * `release` does nothing, and `renew` returns false.
 */
export interface Acquisition {
  readonly decision: Decision;

  /**
   * Releases the slots, once; other units that the decision took, such as those of a window, stay taken. If the store
   * fails, the release is repeated for 10 s; slots that are never released expire after their `ttl`. Works after the
   * limiter was closed, too. One round trip; none if nothing is held.
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

/** The argument of a function that {@link Limiter.run} calls. */
export interface Running {
  /** The decision that allowed it. */
  readonly decision: Decision;
  /** Aborts when the caller's signal does, and when the slot is lost. */
  readonly signal: AbortSignal;
}

/**
 * Decides over keys. Decisions of one call are atomic: over all policies and limits, everything is taken or
 * nothing. A memory store decides in this tick, Redis in one round trip. (Limits whose keys live on different nodes of
 * a cluster are looked at first, and taken from in a second round trip; if one denies then, the others are refunded.)
 *
 * `Key` is a string that is not empty; with `limits`, an object with a key per limit.
 */
export interface Limiter<Key = string> {
  readonly name: string;

  /**
   * Takes `cost` units if every policy allows them, else none. One round trip.
   *
   * @param cost - A whole number up to 2^53 - 1, default 1. With 0 nothing is taken, and only a block denies.
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`; TypeError
   * `SLUICE_ACQUIRE_NEEDED` if a policy holds slots; SluiceError `SLUICE_LIMITER_CLOSED`; with
   * `onStoreError: 'throw'` StoreError.
   */
  consume(key: Key, cost?: number): Promise<Decision>;

  /**
   * Reports whether `consume` would be allowed, which policy would decide, and how long to wait; the other numbers
   * are the current ones. Takes and writes nothing. Rejects as `consume` does.
   */
  peek(key: Key, cost?: number): Promise<Decision>;

  /**
   * Refunds a decision, once. A window takes units back until it ends, a bucket up to its capacity; a denied decision
   * has no units to refund. One round trip. A failure of the store is not reported: a refund that surely was not sent is
   * sent when the store is back, within 10 s; one that may have happened is not sent again.
   *
   * @param cost - Units to refund: at most those of the decision. Default: all that it took.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` for anything but a Decision object that this limiter
   * returned, copies included; RangeError or TypeError `SLUICE_COST_INVALID`.
   */
  refund(decision: Decision, cost?: number): Promise<void>;

  /**
   * Refunds units of a key without a decision: to each policy its newest units, at most those that are used. A block
   * stays. Each call counts, so send it once. One round trip. If the store fails, `onStoreError: 'local'` refunds in the
   * local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. Default 1.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` for what is neither a decision nor a key; TypeError
   * `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`; TypeError `SLUICE_ACQUIRE_NEEDED` if a
   * policy holds slots; StoreError when the store fails or is late: after `SLUICE_STORE_TIMEOUT` it may have happened.
   */
  refund(key: Key, cost?: number): Promise<void>;

  /**
   * Counts units that have been used already, whatever the limits are: never denies. A window passes its limit, a
   * bucket goes below zero, and both deny until the units have come back; a blocked key is charged too. One round trip,
   * atomic over the policies of a key. If the store fails, `onStoreError: 'local'` counts in the local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. At most 2^52 units are counted.
   * @throws (rejects) as `refund` of a key does.
   */
  charge(key: Key, cost: number): Promise<void>;

  /**
   * Takes an estimate of a cost that is known only afterwards: tokens of a language model, bytes, the work of a
   * query. Decides and rejects as `consume(key, estimate)` does, in one round trip; settling is a second one.
   *
   * @param estimate - A whole number from 1 to 2^53 - 1. The largest possible cost, if it is known, keeps the
   * limit exact.
   */
  reserve(key: Key, estimate: number): Promise<Reservation>;

  /**
   * Takes a slot of every {@link concurrency} policy, and a unit of every other one, if all of them allow; else
   * nothing. The slot is held until it is released, or expires. One round trip, and one more for the release.
   *
   * @param cost - Slots, and units of every other policy: a whole number, at least 1. Default 1.
   * @throws (rejects) as `consume` does, also for a `cost` of 0; TypeError `SLUICE_ACQUIRE_NOT_NEEDED` if no policy
   * holds slots.
   */
  acquire(key: Key, cost?: number): Promise<Acquisition>;

  /**
   * Waits until `cost` units are allowed, takes them, and resolves with that decision, after its `delayMs`. In this
   * process the requests for one key (with `limits`, for one combination of keys) are allowed in the order of their
   * calls, whatever they cost; between processes there is no order.
   *
   * One call of the store decides for as many requests as may fit, and none is made before the first one can be
   * allowed, or units have come back in this process. If the store does not decide, it is asked again after a pause,
   * unless `onStoreError` allows or throws.
   *
   * @throws (rejects) SluiceError `SLUICE_WAIT_TIMEOUT` after `maxWaitMs`, `SLUICE_WAIT_FULL` if `maxWaiters` wait
   * already, `SLUICE_NEVER_FITS` for a cost above the limit, `SLUICE_LIMITER_CLOSED` on `close`; the reason of
   * `signal`; PolicyError for a bad option; and as `consume` does. If a policy holds slots, use {@link Limiter.run}.
   */
  wait(key: Key, options?: WaitOptions): Promise<Decision>;

  /**
   * Waits as {@link Limiter.wait} does, also for slots, calls `fn`, and resolves or rejects as it does. Slots are
   * renewed every third of their `ttl`, and released however `fn` ends: one round trip each.
   *
   * @param fn - Its `signal` aborts with the reason of `options.signal`, and with SluiceError `SLUICE_SLOT_LOST` when
   * its slot may belong to others.
   * @throws (rejects) as `fn` and `wait` do.
   */
  run<Result>(key: Key, fn: (running: Running) => Result | Promise<Result>, options?: WaitOptions): Promise<Result>;

  /**
   * Resets what the key has used. A block stays. One round trip, and for `block`, `unblock`, and with `by` or
   * `reason`, a second one that writes the timeline: see `readEvents`. All three also change the local fallback. Rejects for a bad key as
   * `consume` does, and with StoreError when the store fails; after `SLUICE_STORE_TIMEOUT` the edit may have happened.
   */
  reset(key: Key, options?: EditOptions): Promise<void>;

  /**
   * Denies every request of the key for `duration` (1 ms to 100 years); a later block replaces it. Rejects as
   * `reset` does, and with PolicyError `SLUICE_OPTION_INVALID` for a bad duration.
   *
   * @param options - `reset: true` also resets what the key has used, in the same step.
   */
  block(key: Key, duration: Duration, options?: BlockOptions): Promise<void>;

  /** Ends a block. Rejects as `reset` does. */
  unblock(key: Key, options?: EditOptions): Promise<void>;

  /**
   * The state of the limiter's store as this process knows it, such as whether its breaker is closed. Makes no
   * call.
   */
  status(): Status;

  /**
   * Rejects what waits. Waits for what is in flight, and closes what the store opened when no other limiter uses it.
   * Later calls of the limiter reject with `SLUICE_LIMITER_CLOSED`; closing again does nothing.
   */
  close(): Promise<void>;
}
