import type { Decision } from '../engine/decision.ts';
import { parseDuration, type Duration } from '../values/duration.ts';
import { PolicyError, rangeError, shown, typeError } from '../errors.ts';
import { subjectOf } from '../engine/key.ts';
import { CORE_OPTIONS, type LimiterCoreOptions } from './options.ts';
import { checkCost, checkEstimate } from '../values/cost.ts';
import { LimiterCore } from './core.ts';
import type { Status } from '../observe/live-limiters.ts';
import { checkOptions } from '../values/check-options.ts';
import { flag, readOptions, type OptionTable, type SettingsOf } from '../values/option.ts';
import { reservationOf, type Reservation } from './settlement/reservation.ts';
import type { SlidingWindowOptions } from '../algorithms/sliding-window/policy.ts';
import type { Policy } from '../engine/policy.ts';
import { isSource, mayHoldSlots, type LimitRef } from '../engine/limit-source.ts';
import type { LimitReference } from './limit-reference.ts';
import type { UnresolvedPart } from './resolve.ts';
import {
  areKeys,
  givenPolicy,
  isByName,
  limitOfPolicy,
  limitsByName,
  subjectsByLimit,
  type LimiterLimits,
  type LimitOptions,
  type SubjectByLimit,
} from './limits.ts';
import { isPending } from '../engine/store.ts';
import { readWaitOptions, type RunOptions, type WaitOptions } from './waiting/options.ts';
import { runHolding, type Running } from './waiting/run.ts';
import { acquisition, type AcquireOptions, type Acquisition } from './settlement/acquisition.ts';
import { holderOf, newHolder } from './settlement/holder.ts';

/** Options that exclude others. */
type Without<Names extends string> = { [Name in Names]?: never };

export interface SingleLimiterOptions extends LimiterCoreOptions, Without<'limit' | 'window' | 'limits'> {
  /**
   * All must allow, or nothing is taken. Several need names. Or a reference to a stored policy:
   * `managed('orders')`.
   */
  policy: Policy | readonly Policy[] | LimitReference;
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

export interface BlockOptions {
  /** Whether what the key has used is forgotten in the same step, as by `reset`. Default false. */
  reset?: boolean;
}

const BLOCK: OptionTable<SettingsOf<BlockOptions>> = { reset: flag(false) };

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
   * `SLUICE_ACQUIRE_NEEDED` where a policy holds slots; SluiceError `SLUICE_LIMITER_CLOSED`; with
   * `onStoreError: 'throw'` StoreError.
   */
  consume(key: Key, cost?: number): Promise<Decision>;

  /**
   * Reports whether `consume` would be allowed, which policy would decide, and how long to wait; the other numbers
   * are the current ones. Takes and writes nothing. Rejects as `consume` does.
   */
  peek(key: Key, cost?: number): Promise<Decision>;

  /**
   * Refunds a decision. Only the first call counts, even if it fails (after `SLUICE_BREAKER_OPEN` a second call is
   * possible). A window takes units back until it ends, a bucket up to its capacity; a denied decision has no units to
   * refund. One round trip.
   *
   * @param cost - Units to refund: at most those of the decision. Default: all that it took.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` for anything but a Decision object that this limiter
   * returned, copies included; RangeError or TypeError `SLUICE_COST_INVALID`; StoreError when the store fails or is
   * late.
   */
  refund(decision: Decision, cost?: number): Promise<void>;

  /**
   * Refunds units of a key where no decision is at hand: to each policy its newest units, at most those that are used.
   * Denial counts and blocks stay. Each call counts, so send it once. One round trip. Where the store fails,
   * `onStoreError: 'local'` refunds in the local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. Default 1.
   * @throws (rejects) TypeError `SLUICE_DECISION_UNKNOWN` for what is neither a decision nor a key; TypeError
   * `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`; TypeError `SLUICE_ACQUIRE_NEEDED` where a
   * policy holds slots; StoreError when the store fails or is late: after `SLUICE_STORE_TIMEOUT` it may have happened.
   */
  refund(key: Key, cost?: number): Promise<void>;

  /**
   * Counts units that have been used already, whatever the limits are: never denies. A window passes its limit, a
   * bucket goes below zero, and both deny until the units have come back; a blocked key is charged too. One round trip,
   * atomic over the policies of a key. Where the store fails, `onStoreError: 'local'` counts in the local fallback.
   *
   * @param cost - A whole number up to 2^53 - 1. At most 2^52 units are counted (of a sliding log 999 999).
   * @throws (rejects) as `refund` of a key does.
   */
  charge(key: Key, cost: number): Promise<void>;

  /**
   * Takes an estimate of a cost that is known only afterwards: tokens of a language model, bytes, the work of a
   * query. Decides and rejects as `consume(key, estimate)` does, in one round trip; settling is a second one.
   *
   * @param estimate - A whole number from 1 to 2^53 - 1. The largest possible cost, where it is known, keeps the
   * limit exact.
   */
  reserve(key: Key, estimate: number): Promise<Reservation>;

  /**
   * Takes a slot of every {@link concurrency} policy, and a unit of every other one, if all of them allow; else
   * nothing. The slot is held until it is released, or expires. One round trip, and one more for the release.
   *
   * @throws (rejects) as `consume` does, also for a `cost` of 0; TypeError `SLUICE_KEY_INVALID` for a `holder` that
   * is not a string, or empty; TypeError `SLUICE_ACQUIRE_NOT_NEEDED` where no policy holds slots; PolicyError
   * `SLUICE_OPTION_UNKNOWN`.
   */
  acquire(key: Key, options?: AcquireOptions): Promise<Acquisition>;

  /**
   * Waits until `cost` units are allowed, takes them, and resolves with that decision, after its `delayMs`. In this
   * process the requests for one key (with `limits`, for one combination of keys) are allowed in the order of their
   * calls, whatever they cost; between processes there is no order.
   *
   * One call of the store decides for as many requests as may fit, and none is made before the first one can be
   * allowed, or units have come back in this process. Where the store does not decide, it is asked again after a pause,
   * unless `onStoreError` allows or throws.
   *
   * @throws (rejects) SluiceError `SLUICE_WAIT_TIMEOUT` after `maxWaitMs`, `SLUICE_WAIT_FULL` where `maxWaiters` wait
   * already, `SLUICE_NEVER_FITS` for a cost above the limit, `SLUICE_LIMITER_CLOSED` on `close`; the reason of
   * `signal`; PolicyError for a bad option; and as `consume` does. Where a policy holds slots, use {@link Limiter.run}.
   */
  wait(key: Key, options?: WaitOptions): Promise<Decision>;

  /**
   * Waits as {@link Limiter.wait} does, also for slots, calls `fn`, and resolves or rejects as it does. Slots are
   * renewed every third of their `ttl`, and released however `fn` ends: one round trip each.
   *
   * @param fn - Its `signal` aborts with the reason of `options.signal`, and with SluiceError `SLUICE_SLOT_LOST` when
   * its slot may belong to others.
   * @throws (rejects) as `fn` and `wait` do; TypeError `SLUICE_KEY_INVALID` for a bad `holder`.
   */
  run<Result>(key: Key, fn: (running: Running) => Result | Promise<Result>, options?: RunOptions): Promise<Result>;

  /**
   * Resets what the key has used. A block stays. One round trip, as for `block` and `unblock`; all three also
   * change the local fallback. Rejects for a bad key as `consume` does, and with StoreError when the store fails;
   * after `SLUICE_STORE_TIMEOUT` the edit may have happened.
   */
  reset(key: Key): Promise<void>;

  /**
   * Clears all keys, blocks included, for tests: the counts of its policies, also under `limits`, under policies that a
   * function picks and for preflights; slots; counted denials. Other limiters of the store keep theirs, except those
   * that share the name or a managed policy. Waiting requests are decided again; `run` loses its slots, and aborts with
   * `SLUICE_SLOT_LOST` at its next renewal. Makes no call. Only for memory stores.
   *
   * @throws (rejects) SluiceError `SLUICE_RESET_ALL_UNSUPPORTED` for any other store: nothing was reset.
   */
  resetAll(): Promise<void>;

  /**
   * Denies every request of the key for `duration` (1 ms to 100 years); a later block replaces it. Rejects as
   * `reset` does, and with PolicyError `SLUICE_OPTION_INVALID` for a bad duration.
   *
   * @param options - `reset: true` also resets what the key has used, in the same step.
   */
  block(key: Key, duration: Duration, options?: BlockOptions): Promise<void>;

  /** Ends a block. Rejects as `reset` does. */
  unblock(key: Key): Promise<void>;

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

/**
 * Makes a limiter: its policies, and one store. Costs nothing until it is first used.
 *
 * @example
 * ```ts
 * const limiter = createLimiter({ limit: 5, window: '1m' });
 * const { allowed, retryAfterMs } = await limiter.consume('user-42');
 * ```
 *
 * @throws PolicyError naming the field, what was expected and what came; `SLUICE_OPTION_UNKNOWN` for an option that
 * does not exist; `SLUICE_LIMITER_NAME_TAKEN` for a second limiter of one name on one store, unless both say `shared`.
 */
export function createLimiter(options: SingleLimiterOptions | ShortLimiterOptions): Limiter;
export function createLimiter<const Limits extends readonly LimitOptions[]>(
  options: LimitsLimiterOptions<Limits>,
): Limiter<KeysOf<Limits>>;
export function createLimiter(options: LimiterOptions): Limiter | Limiter<SubjectByLimit>;
export function createLimiter(options: LimiterOptions): Limiter | Limiter<SubjectByLimit> {
  checkOptions(options, ['limit', 'window', 'policy', 'limits', ...CORE_OPTIONS], 'createLimiter');
  const core = new LimiterCore(options);
  const { policy, limit, window }: { policy?: unknown; limit?: unknown; window?: unknown } = options;
  if (options.limits !== undefined && (policy ?? limit ?? window) !== undefined) {
    throw new PolicyError('limits', 'createLimiter takes limits, or policy, or limit and window, got both');
  }
  const limits =
    options.limits === undefined
      ? limitOfPolicy(core, givenPolicy({ policy, limit, window }, 'createLimiter', 'or limits'))
      : limitsByName(core, options.limits);
  core.claim();
  return new LimiterImpl<string & SubjectByLimit>(core, limits);
}

/** A part with a holder, which its slots are taken for. */
export interface HeldPart extends UnresolvedPart {
  readonly holder: string;
}

/** The result of {@link createLimiter}, over checked limits. */
export class LimiterImpl<Key> implements Limiter<Key> {
  readonly name: string;
  readonly #core: LimiterCore;
  readonly #limits: LimiterLimits;
  /** The only one, where its key is a string. */
  readonly #limit: LimitRef | undefined;

  constructor(core: LimiterCore, limits: LimiterLimits) {
    this.name = core.name;
    this.#core = core;
    this.#limits = limits;
    this.#limit = isByName(limits) ? undefined : limits;
  }

  /** The parts of a limiter; undefined if it is not a limiter. */
  static partsOf(limiter: unknown): { readonly core: LimiterCore; readonly limits: LimiterLimits } | undefined {
    if (typeof limiter !== 'object' || limiter === null || !(#core in limiter)) return undefined;
    return { core: limiter.#core, limits: limiter.#limits };
  }

  // Each is async, or does what that would do, so that every error is a rejection.

  /** Not async: returns the store's own promise, or a settled one, without another promise around it. */
  consume(key: Key, cost = 1): Promise<Decision> {
    try {
      const limit = this.#limit;
      let decided: Decision | Promise<Decision>;
      if (limit === undefined || cost === 0) decided = this.#core.decide('consume', this.#partsOf(key, cost));
      else {
        checkCost(cost);
        decided = this.#core.consume(limit, subjectOf(key), cost, key as string);
      }
      // Tested first: V8 makes a settled promise of a known non-promise with half the work.
      return isPending(decided) ? decided : Promise.resolve(decided);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }

  async peek(key: Key, cost = 1): Promise<Decision> {
    return this.#core.decide('peek', this.#partsOf(key, cost));
  }

  async refund(given: unknown, cost?: number): Promise<void> {
    const isKey = isByName(this.#limits) ? areKeys(this.#limits, given) : typeof given === 'string';
    if (isKey) await this.#core.settleKeys('refund', this.#partsOf(given, cost ?? 1));
    else await this.#core.settlements.refund(given as Decision, cost);
  }

  async charge(key: Key, cost: number): Promise<void> {
    await this.#core.settleKeys('charge', this.#partsOf(key, cost));
  }

  async reserve(key: Key, estimate: number): Promise<Reservation> {
    checkEstimate(estimate);
    return reservationOf(await this.consume(key, estimate), this.#core.settlements);
  }

  async acquire(key: Key, options: AcquireOptions = {}): Promise<Acquisition> {
    return acquisition(await this.#core.decide('consume', this.slotParts(key, options)), this.#core.settlements);
  }

  /**
   * The parts that `acquire` consumes, with their holders.
   *
   * @throws as {@link Limiter.acquire} rejects.
   */
  slotParts(key: Key, options: AcquireOptions): readonly HeldPart[] {
    checkOptions(options, ['holder', 'cost'], 'acquire');
    const { holder, cost = 1 } = options;
    const parts = this.#partsOf(key, cost);
    if (cost === 0) {
      throw rangeError('SLUICE_COST_INVALID', 'a slot is at least 1 unit, got a cost of 0; nothing was consumed');
    }
    if (!parts.some(({ limit }) => mayHoldSlots(limit))) {
      throw typeError(
        'SLUICE_ACQUIRE_NOT_NEEDED',
        `the limiter ${this.name} has no policy that holds slots: use consume, or add concurrency({ limit, ttl }); nothing was consumed`,
      );
    }
    const named = holder === undefined ? undefined : holderOf(holder);
    // A name is the same holder under every key; no two parts of a limiter share a key.
    return parts.map((part) => ({ ...part, holder: named ?? newHolder() }));
  }

  async wait(key: Key, options: WaitOptions = {}): Promise<Decision> {
    const settings = readWaitOptions(options, 'wait');
    return this.#core.waiting.wait(this.#partsOf(key, settings.cost), settings);
  }

  async run<Result>(
    key: Key,
    fn: (running: Running) => Result | Promise<Result>,
    options: RunOptions = {},
  ): Promise<Result> {
    if (typeof fn !== 'function') {
      throw typeError(
        'SLUICE_OPTION_INVALID',
        `run takes a key and a function, got ${shown(fn)}; nothing was consumed`,
      );
    }
    const settings = readWaitOptions(options, 'run');
    const { cost } = settings;
    const parts = this.#partsOf(key, cost);
    const held = parts.some(({ limit }) => mayHoldSlots(limit))
      ? this.slotParts(key, { cost, holder: options.holder })
      : parts;
    const decision = await this.#core.waiting.wait(held, settings);
    return runHolding(this.#core, decision, settings.signal, fn);
  }

  async reset(key: Key): Promise<void> {
    await this.#edit(key, (part) => ({ op: 'reset', part }));
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- async, so that every error is a rejection
  async resetAll(): Promise<void> {
    const limits = isByName(this.#limits) ? [...this.#limits.values()] : [this.#limits];
    this.#core.resetAll(limits.filter(isSource));
  }

  async block(key: Key, duration: Duration, options: BlockOptions = {}): Promise<void> {
    const durationMs = parseDuration(duration, 'duration', 'SLUICE_OPTION_INVALID');
    const { reset } = readOptions(options, BLOCK, 'block');
    await this.#edit(key, (part) => ({ op: 'block', part, durationMs, reset }));
  }

  async unblock(key: Key): Promise<void> {
    await this.#edit(key, (part) => ({ op: 'unblock', part }));
  }

  status(): Status {
    return this.#core.status();
  }

  async close(): Promise<void> {
    await this.#core.close();
  }

  #partsOf(key: unknown, cost: number): readonly UnresolvedPart[] {
    checkCost(cost);
    if (isByName(this.#limits)) {
      return subjectsByLimit(this.#limits, key).map(([limit, subject, own]) => ({ limit, subject, cost, key: own }));
    }
    return [{ limit: this.#limits, subject: subjectOf(key), cost, key: key as string }];
  }

  async #edit(
    key: Key,
    requestOf: (part: UnresolvedPart) => Parameters<LimiterCore['edit']>[0][number],
  ): Promise<void> {
    await this.#core.edit(this.#partsOf(key, 0).map(requestOf));
  }
}
