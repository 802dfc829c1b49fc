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

const text: Reader<string> = /* @__PURE__ */ valueThat((given) => typeof given === 'string', 'a string');

export const EDIT = {
  /** Who makes the change. Recorded in the timeline: see `readEvents`. */
  by: optional(text) as Optional<string>,
  /** Why. Also recorded in the timeline. */
  reason: optional(text) as Optional<string>,
};

export const BLOCK: typeof EDIT & { readonly reset: WithDefault<boolean> } = {
  ...EDIT,
  /** Whether to also clear what the key has used, like `reset`, in the same step. Default `false`. */
  reset: withDefault(flag, false),
};

export interface EditOptions extends Options<typeof EDIT> {}
export interface BlockOptions extends Options<typeof BLOCK> {}

/** Options that exclude others. */
type Without<Names extends string> = { [Name in Names]?: never };

export interface SingleLimiterOptions extends LimiterCoreOptions, Without<'limit' | 'window' | 'limits'> {
  /**
   * A policy, or a list of named policies that must all allow. Or a function `(key, { app, policies })` that returns
   * the policy for a key, such as `managed('orders')`.
   */
  policy: Policy | readonly Policy[] | PolicyFunction;
}

/** Short for the policy `slidingWindow({ limit, window })`. */
export interface ShortLimiterOptions
  extends LimiterCoreOptions, Without<'policy' | 'limits'>, Pick<SlidingWindowOptions, 'limit' | 'window'> {}

export interface LimitsLimiterOptions<Limits extends readonly LimitOptions[] = readonly LimitOptions[]>
  extends LimiterCoreOptions, Without<'policy' | 'limit' | 'window'> {
  /** Instead of `policy`: several limits that are decided together, each with its own key. */
  limits: Limits;
}

export type LimiterOptions = SingleLimiterOptions | ShortLimiterOptions | LimitsLimiterOptions;

/** Keys by the names of their limits. A limit whose key is missing or undefined is skipped. */
export type KeysOf<Limits extends readonly LimitOptions[]> = {
  readonly [Name in Limits[number]['name']]?: string | undefined;
};

/**
 * Units taken by an estimate until the actual cost is known: the result of {@link Limiter.reserve}. Its functions need
 * no `this`, and only the first call has an effect. A reservation that is never settled costs its estimate.
 */
export interface Reservation {
  /** The decision of `consume(key, estimate)`. If it denies, nothing was taken, and there is nothing to settle. */
  readonly decision: Decision;

  /**
   * Reports how many units were used. The rest of the estimate is refunded as by `refund`: to a window until it ends,
   * to a bucket up to its capacity. Units beyond the estimate are charged even above the limit: to the estimate's
   * window until it ends, but not to a later one; to a bucket at any time, even below zero, where it denies until it is
   * refilled. One step for all policies and limits of a key; one round trip, or none if the estimate was right.
   *
   * A decision of the local fallback is settled there. One that no store made (outcome `unavailable` or `unconfigured`)
   * needs no settling. It does not reject if the store fails: what was certainly not sent is sent if the store is back
   * within 10 s; what may have been executed is not sent again.
   *
   * @param actual - A whole number from 0 to 2^53 - 1.
   * @throws (rejects) RangeError or TypeError `SLUICE_COST_INVALID`: nothing is settled, and you can call it again.
   */
  readonly settle: (actual: number) => Promise<void>;

  /** Refunds all of it: `settle(0)`. */
  readonly cancel: () => Promise<void>;
}

/**
 * The result of {@link Limiter.acquire}: a decision and, if it allows, the slots. Its functions need no `this`. If the
 * decision denies, or no store made it (outcome `unavailable` or `unconfigured`), no slot is held: `release` does
 * nothing, and `renew` resolves with false.
 */
export interface Acquisition {
  readonly decision: Decision;

  /**
   * Releases the slots, once. Other units of the decision, such as those of a window, stay used. If the store fails,
   * the release is retried for 10 s; slots that are never released expire after their `ttl`. Also works after the
   * limiter was closed. One round trip, or none if no slot is held.
   */
  readonly release: () => Promise<void>;

  /**
   * Extends the slots by a `ttl` from now, and resolves with whether they were still held: expired slots may belong to
   * others. Also works after the limiter was closed. One round trip, or none once a `ttl` has passed.
   *
   * @throws (rejects) StoreError if the store fails or is late.
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
 * Decides whether a key may use units. A decision is atomic across all policies and limits: either all of them are
 * charged, or none. A memory store decides in this tick, Redis in one round trip. (If the keys are on different nodes
 * of a cluster, limits are checked first and charged in a second round trip; if one denies then, the others are
 * refunded.)
 *
 * `Key` is a non-empty string; with `limits`, an object with a key per limit.
 */
export interface Limiter<Key = string> {
  readonly name: string;

  /**
   * Takes `cost` units if every policy allows them, otherwise none. One round trip.
   *
   * @param cost - A whole number up to 2^53 - 1, default 1. With 0, nothing is taken, and only a block denies.
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`; TypeError
   * `SLUICE_ACQUIRE_NEEDED` if a policy holds slots; SluiceError `SLUICE_LIMITER_CLOSED`; with `onStoreError: 'throw'`
   * StoreError.
   */
  consume(key: Key, cost?: number): Promise<Decision>;

  /**
   * Reports whether `consume` would be allowed, which policy would decide, and how long to wait; the other numbers are
   * the current ones. Takes and writes nothing. Rejects like `consume`.
   */
  peek(key: Key, cost?: number): Promise<Decision>;

  /**
   * Refunds a decision, once. A window takes units back until it ends, a bucket up to its capacity; a denied decision
   * has nothing to refund. One round trip. It does not reject if the store fails: a refund that was certainly not sent
   * is sent if the store is back within 10 s; one that may have been executed is not sent again.
   *
   * @param cost - Units to refund: at most those of the decision. Default: all that it took.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` for anything but a Decision object that this limiter
   * returned, copies included; RangeError or TypeError `SLUICE_COST_INVALID`.
   */
  refund(decision: Decision, cost?: number): Promise<void>;

  /**
   * Refunds units of a key without a decision: the newest units of each policy, at most those that are used. A block
   * stays. Every call refunds, so do not repeat it. One round trip. If the store fails, `onStoreError: 'local'` refunds
   * in the local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. Default 1.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` if it is neither a decision nor a key; TypeError
   * `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`; TypeError `SLUICE_ACQUIRE_NEEDED` if a policy
   * holds slots; StoreError if the store fails or is late: after `SLUICE_STORE_TIMEOUT` it may have been executed.
   */
  refund(key: Key, cost?: number): Promise<void>;

  /**
   * Counts units that were already used, and never denies. A window may exceed its limit and a bucket may go below
   * zero; both then deny until the units have come back. A blocked key is charged too. One round trip, atomic across
   * the policies of a key. If the store fails, `onStoreError: 'local'` counts in the local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. At most 2^52 units are counted.
   * @throws (rejects) like `refund` of a key.
   */
  charge(key: Key, cost: number): Promise<void>;

  /**
   * Takes an estimate of a cost that is known only later: tokens of a language model, bytes, the cost of a query.
   * Decides and rejects like `consume(key, estimate)`, in one round trip; settling takes a second one.
   *
   * @param estimate - A whole number from 1 to 2^53 - 1. If it is the largest possible cost, the limit stays exact.
   */
  reserve(key: Key, estimate: number): Promise<Reservation>;

  /**
   * Takes a slot of every {@link concurrency} policy and a unit of every other policy if all of them allow, otherwise
   * nothing. The slot is held until it is released or expires. One round trip, and one more for the release.
   *
   * @param cost - Slots, and units of the other policies: a whole number, at least 1. Default 1.
   * @throws (rejects) like `consume`, and for a `cost` of 0; TypeError `SLUICE_ACQUIRE_NOT_NEEDED` if no policy holds
   * slots.
   */
  acquire(key: Key, cost?: number): Promise<Acquisition>;

  /**
   * Waits until `cost` units are allowed, takes them, and resolves with that decision after its `delayMs`. Within this
   * process, requests for a key (with `limits`, for a combination of keys) are allowed in the order of their calls,
   * whatever they cost. There is no order between processes.
   *
   * One call to the store decides for as many requests as may fit. It is made when the first one can be allowed, or
   * when this process has returned units. If the store fails, it is called again after a pause, unless `onStoreError`
   * allows or throws.
   *
   * @throws (rejects) SluiceError `SLUICE_WAIT_TIMEOUT` after `maxWaitMs`, `SLUICE_WAIT_FULL` if `maxWaiters` calls
   * already wait, `SLUICE_NEVER_FITS` for a cost above the limit, `SLUICE_LIMITER_CLOSED` on `close`; the reason of
   * `signal`; PolicyError for an invalid option; otherwise like `consume`. If a policy holds slots, use {@link
   * Limiter.run}.
   */
  wait(key: Key, options?: WaitOptions): Promise<Decision>;

  /**
   * Waits like {@link Limiter.wait}, and also for slots, then calls `fn`, and resolves or rejects with its result.
   * Slots are renewed every third of their `ttl`, and released however `fn` ends: one round trip each.
   *
   * @param fn - Its `signal` aborts with the reason of `options.signal`, or with SluiceError `SLUICE_SLOT_LOST` if its
   * slot may belong to others.
   * @throws (rejects) like `fn` and `wait`.
   */
  run<Result>(key: Key, fn: (running: Running) => Result | Promise<Result>, options?: WaitOptions): Promise<Result>;

  /**
   * Clears what the key has used. A block stays. One round trip. `block`, `unblock`, and a `reset` with `by` or
   * `reason`, are also events of the timeline (see `readEvents`). A store in Redis writes one in the script of the edit,
   * and adds what was used before and after in a second call; in a cluster, that call writes all of it. All three also
   * change the local fallback. Rejects like `consume` for an invalid key, and with StoreError if the store fails; after `SLUICE_STORE_TIMEOUT` the
   * change may have been made.
   */
  reset(key: Key, options?: EditOptions): Promise<void>;

  /**
   * Denies every request of the key for `duration` (1 ms to 100 years); a later block replaces an earlier one. Rejects
   * like `reset`, and with PolicyError `SLUICE_OPTION_INVALID` for an invalid duration.
   *
   * @param options - `reset: true` also clears what the key has used, in the same step.
   */
  block(key: Key, duration: Duration, options?: BlockOptions): Promise<void>;

  /** Ends a block. Rejects like `reset`. */
  unblock(key: Key, options?: EditOptions): Promise<void>;

  /**
   * The state of the store as this process knows it, such as whether its breaker is closed. Does not call the store.
   */
  status(): Status;

  /**
   * Rejects waiting calls, waits for calls in flight, and closes what the store opened if no other limiter uses it.
   * Later calls reject with `SLUICE_LIMITER_CLOSED`; closing again does nothing.
   */
  close(): Promise<void>;
}
