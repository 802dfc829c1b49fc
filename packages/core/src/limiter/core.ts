import { storeErrors } from '../channels.ts';
import { PolicyError, SluiceError, StoreError, asStoreError, shown, typeError } from '../errors.ts';
import { guardOf, isFault, type Guard } from '../guard/guard.ts';
import { forget, remember, type LiveLimiter, type Status } from '../observe/live-limiters.ts';
import { isClusterWorker, startTimer, stopTimer } from '../platform.ts';
import { ALLOWED, BLOCKED, DELAY, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../program/decide.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import { readOptions } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import {
  LimiterDecision,
  deniedForWaiting,
  undecided,
  type Decision,
  type PolicyDecision,
  type Receipt,
} from './decision.ts';
import { addAsks, readLimit, readLocal, type Counted, type Limit, type Want } from './limits.ts';
import { claimName, isInUse, stayOn } from './names.ts';
import {
  checkSettings,
  LIMITER,
  type LimiterCoreOptions,
  type LimiterSettings,
  type OnStoreError,
  type OnUnconfigured,
} from './options.ts';
import { isPromise } from './pending.ts';
import { readMark, type PolicyContext } from './policy-function.ts';
import { isWatched, publish, type Watcher } from './publish.ts';
import { Slots } from './slots.ts';
import { watchThresholds } from './thresholds.ts';
import { WaitQueues } from './wait-queues.ts';

/** `try` is a `take` whose denial starts no block. */
export type DecidingOp = 'take' | 'peek' | 'try';

/** How a request is decided, beside what it wants. */
export interface DecideOptions {
  /** When the decision is late, by `performance.now()`. Default: in `timeoutMs`. */
  readonly endMs?: number | undefined;
  /** Decides if the store does not. Default: as the limiter's own option says. */
  readonly onStoreError?: OnStoreError | undefined;
  /** Whether the caller publishes the decision itself. */
  readonly isSilent?: boolean;
}

/** One decision under way, which becomes its receipt. */
interface Call extends Receipt {
  readonly wants: readonly Want[];
  /** The policy of each ask. */
  counted: readonly Counted[];
  readonly onStoreError: OnStoreError;
}

const USUAL: DecideOptions = {};

/** The base of `createLimiter` and the adapters: decides over limits in one store. */
export class LimiterCore implements LiveLimiter {
  readonly name: string;
  readonly store: Store;
  /** How long a decision waits for the store at most. */
  readonly timeoutMs: number;
  readonly onStoreError: OnStoreError;
  /** The slots that decisions of the limiter hold. */
  readonly slots: Slots = new Slots(this);
  /** Requests that wait until they are allowed. */
  readonly waiting: WaitQueues = new WaitQueues(this);
  readonly #settings: LimiterSettings;
  readonly #context: PolicyContext;
  /** None around memory, which is never late. */
  readonly #guard: Guard | undefined;
  readonly #thresholds: Watcher | undefined;
  /** Limits by what was given for them, as long as that lives: requests may bring policies of their own. */
  readonly #limits = new WeakMap<object, Limit>();
  /** Those that were there from the start. */
  readonly #known: Limit[] = [];
  /** Functions that return policies, and what closes them. */
  readonly #functions = new Map<unknown, (() => void | Promise<void>) | undefined>();
  #release: (() => void) | undefined;
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const settings = readOptions(options, LIMITER, 'createLimiter');
    checkSettings(settings);
    const { name, store = memoryStore(), timeoutMs, onStoreError, onThreshold, app, policies } = settings;
    this.name = name;
    this.store = store;
    this.timeoutMs = timeoutMs;
    this.onStoreError = onStoreError;
    this.#settings = settings;
    this.#context = { app, policies, store };
    this.#guard = store.source === 'memory' ? undefined : guardOf(store);
    this.#thresholds = onThreshold === undefined ? undefined : watchThresholds(onThreshold);
  }

  /** Claims the name on the store: the last step of making a limiter, after every check. */
  claim(): void {
    const { name, store } = this;
    const { shared, store: given } = this.#settings;
    const releaseName = claimName(this, store, { name, shared, ownsMemory: given === undefined });
    const leaveGuard = this.#guard?.join(name);
    this.#release = () => {
      releaseName();
      leaveGuard?.();
    };
    for (const read of this.#functions.keys()) this.#open(read);
    remember(this);
    if (this.#guard !== undefined || !isClusterWorker()) return;
    const what = `the limiter ${name} counts in the memory of this worker, and every worker of a cluster has its own`;
    const then = 'N workers together allow N times the limit. Pass store: redisStore(...).';
    warnOnce('SLUICE_MEMORY_IN_CLUSTER', `${what}: ${then}`);
  }

  /**
   * The limit of a policy, of a list of named ones, or of a function that returns one of these: the same for the same
   * object.
   *
   * @param entry - The name of its entry in `limits`.
   * @throws PolicyError.
   */
  limitFor(given: unknown, entry?: string, field?: string): Limit {
    const isKept = entry === undefined && (typeof given === 'function' || typeof given === 'object') && given !== null;
    const known = isKept ? this.#limits.get(given) : undefined;
    if (known !== undefined) return known;
    const limit = readLimit(given, { limiter: this.name, context: this.#context, entry, field });
    for (const one of limit.fixed ?? []) this.#localFor(one);
    if (isKept) this.#limits.set(given, limit);
    if (limit.read !== undefined) this.#open(given);
    if (this.#release === undefined) this.#known.push(limit);
    return limit;
  }

  /** A function is opened when the limiter is in use, once. */
  #open(read: unknown): void {
    const close = this.#functions.get(read);
    this.#functions.set(read, this.#release === undefined ? close : (close ?? readMark(read)?.open?.(this.#context)));
  }

  /** What this process allows of a policy by itself. */
  #localFor(counted: Counted): Counted {
    return readLocal(counted, this.#settings.localShare ?? 1);
  }

  policies(): readonly { readonly name: string; readonly limit: number }[] {
    return this.#known.flatMap(({ fixed = [] }) => fixed.map(({ name, rule }) => ({ name, limit: rule.limit })));
  }

  /** The state of the limiter's store, as far as this process knows. Makes no call. */
  status(): Status {
    const memory = (this.fallback ?? this.store) as { readonly size?: number };
    return { store: this.store.source, breaker: this.#guard?.state ?? 'closed', keysInMemory: memory.size ?? 0 };
  }

  get onUnconfigured(): OnUnconfigured {
    return this.#settings.onUnconfigured;
  }

  /** The memory that decides while the store is not available; none for memory. */
  get fallback(): Store | undefined {
    return this.#guard?.fallback;
  }

  /**
   * Takes the cost of every want, or (`peek`, or a denial) nothing. Returns a decision at once if the store does.
   *
   * @throws TypeError `SLUICE_ACQUIRE_NEEDED`; SluiceError `SLUICE_LIMITER_CLOSED`; with `onStoreError: 'throw'`
   * StoreError. At once, or as a rejection.
   */
  decide(op: DecidingOp, wants: readonly Want[], options: DecideOptions = USUAL): Decision | Promise<Decision> {
    if (this.#closing !== undefined) this.checkOpen();
    if (options.isSilent === true || (this.#thresholds === undefined && !isWatched())) {
      return this.#decide(op, wants, options);
    }
    const startMs = performance.now();
    const publishNow = (decision: Decision): Decision => {
      this.publish(op, decision, startMs);
      return decision;
    };
    const decided = this.#decide(op, wants, options);
    return isPromise(decided) ? decided.then(publishNow) : publishNow(decided);
  }

  /**
   * Publishes a decision of this limiter.
   *
   * @param startMs - When the request came, by `performance.now()`.
   */
  publish(op: DecidingOp, decision: Decision, startMs: number): void {
    if (this.#thresholds === undefined && !isWatched()) return;
    const durationMs = performance.now() - startMs;
    const { wants } = LimiterDecision.readReceipt(decision) as Call;
    publish({ limiter: this, op: op === 'peek' ? op : 'consume', decision, durationMs }, wants, this.#thresholds);
  }

  /**
   * Turns a decision that allows after a wait into a denial, because no more requests can be held. Gives nothing back by
   * itself.
   *
   * @param startMs - When the request came, by `performance.now()`.
   */
  denyWaiting(decision: Decision, startMs: number): Decision {
    const denial = deniedForWaiting(decision);
    this.publish('take', denial, startMs);
    return denial;
  }

  #decide(op: DecidingOp, wants: readonly Want[], options: DecideOptions): Decision | Promise<Decision> {
    const uncached = !this.#settings.denialCache;
    const asks: Ask[] = [];
    const counted: Counted[] = [];
    let cost = 0;
    for (const want of wants) {
      const { fixed } = want.limit;
      if (fixed === undefined) return this.#decideCurrent(op, wants, options);
      addAsks(asks, want, fixed, uncached);
      for (const one of fixed) counted.push(one);
      if (want.cost > cost) cost = want.cost;
      if (want.limit.mayHold && want.holder === 0 && op !== 'peek') checkHolder(fixed);
    }
    const call: Call = {
      issuer: this,
      op: cost === 0 ? 'peek' : op, // a request without cost writes nothing
      cost,
      asks,
      isLocal: false,
      isSpent: true,
      error: undefined,
      wants,
      counted,
      onStoreError: options.onStoreError ?? this.onStoreError,
    };
    try {
      const answer =
        this.#guard === undefined
          ? this.store.perform(call.op, asks)
          : this.#guard.perform(call.op, asks, options.endMs ?? performance.now() + this.timeoutMs);
      if ('figures' in answer) return this.#conclude(call, answer);
      return this.#concludeLater(call, answer);
    } catch (error) {
      return this.#fallBack(call, error);
    }
  }

  #concludeLater(call: Call, answer: Promise<Answer>): Promise<Decision> {
    this.#inFlight++;
    return answer.then(
      (figures) => {
        this.#end();
        return this.#conclude(call, figures);
      },
      (error: unknown) => {
        this.#end();
        return this.#fallBack(call, error);
      },
    );
  }

  #conclude(call: Call, { figures, atMs, source: remembered }: Answer): Decision {
    const source = remembered ?? (call.isLocal ? 'local' : this.store.source);
    const policies: PolicyDecision[] = [];
    let isBlocked = false;
    for (let i = 0; i < call.counted.length; i++) {
      const { name, rule } = call.counted[i] as Counted;
      const of = figures[i] as readonly number[] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7, number>;
      const policy = {
        name,
        allowed: of[ALLOWED] === 1,
        limit: rule.limit,
        remaining: of[REMAINING],
        used: of[USED],
        retryAfterMs: of[RETRY_AFTER] < 0 ? null : of[RETRY_AFTER],
        resetAfterMs: of[RESET_AFTER],
        delayMs: of[DELAY],
        windowMs: rule.windowMs,
        nextAfterMs: of[NEXT_AFTER] < 0 ? null : of[NEXT_AFTER],
      };
      if (of[BLOCKED] > 0) isBlocked = true;
      policies.push(rule.holds ? { ...policy, unit: 'concurrent-requests' } : policy);
    }
    const decision = new LimiterDecision(call, policies, source, atMs, isBlocked);
    call.isSpent = call.op === 'peek' || !decision.allowed;
    return decision;
  }

  /**
   * Decides as `onStoreError` says, after the store failed or was late.
   *
   * @throws the store's error with `throw`; if there is no fallback; or if the error is a fault.
   */
  #fallBack(call: Call, cause: unknown): Decision {
    const { op, wants, asks, onStoreError } = call;
    const { fallback } = this;
    const isThrown = onStoreError === 'throw' || (onStoreError === 'local' && fallback === undefined) || isFault(cause);
    const error = this.report(cause, isThrown);
    if (op !== 'peek' && (error as Partial<StoreError>).sent !== false) this.slots.releaseUnseen(wants, asks);
    if (isThrown) throw error;
    call.error = error;
    if (onStoreError !== 'local' || fallback === undefined) {
      return undecided(call, 'unavailable', onStoreError === 'allow', call.counted[0]?.name ?? this.name);
    }
    call.isLocal = true;
    call.counted = call.counted.map((one) => this.#localFor(one));
    call.asks = asks.map((ask, i) => ({ ...ask, policy: (call.counted[i] as Counted).policy }));
    return this.#conclude(call, fallback.perform(op, call.asks) as Answer);
  }

  /** Decides over limits that functions return, within the time of the decision. */
  #decideCurrent(op: DecidingOp, wants: readonly Want[], options: DecideOptions): Decision | Promise<Decision> {
    const endMs = options.endMs ?? performance.now() + this.timeoutMs;
    const decideOver = (current: readonly (Want | undefined)[]): Decision | Promise<Decision> => {
      const found = current.filter((want) => want !== undefined);
      const isMissing = found.length < wants.length;
      if (!isMissing || (found.length > 0 && this.#settings.onUnconfigured === 'allow')) {
        return this.#decide(op, found, { ...options, endMs });
      }
      const name = wants.find((_, i) => current[i] === undefined)?.limit.name as string;
      return undecided(this.#callFor(wants), 'unconfigured', this.#settings.onUnconfigured === 'allow', name);
    };
    const decideWithout = (cause: unknown): Decision => {
      if (cause instanceof PolicyError || isFault(cause)) throw cause;
      const { onStoreError = this.onStoreError } = options;
      const error = this.report(cause, onStoreError === 'throw');
      if (onStoreError === 'throw') throw error;
      const isAllowed = onStoreError !== 'deny';
      const effect = `its requests are ${isAllowed ? 'let through' : 'denied'} until it has, as onStoreError says`;
      const what = `the limiter ${this.name} has not been able to load its policies yet (${error.message}); ${effect}.`;
      warnOnce('SLUICE_POLICIES_UNKNOWN', what, this.name);
      const name = wants.find(({ limit }) => limit.fixed === undefined)?.limit.name as string;
      return undecided({ ...this.#callFor(wants), error }, 'unavailable', isAllowed, name);
    };
    let current: ReturnType<typeof this.readCurrent>;
    try {
      current = this.readCurrent(wants, endMs);
    } catch (error) {
      return decideWithout(error);
    }
    return isPromise(current) ? this.track(current.then(decideOver, decideWithout)) : decideOver(current);
  }

  /** A decision that asks for nothing. */
  #callFor(wants: readonly Want[]): Call {
    const cost = Math.max(...wants.map((want) => want.cost));
    const nothing = { asks: [], counted: [], isLocal: false, isSpent: true, error: undefined };
    return { issuer: this, op: 'peek', cost, wants, onStoreError: this.onStoreError, ...nothing };
  }

  /**
   * The wants with the policies of the moment; undefined if a want has none.
   *
   * @throws (or rejects) StoreError `SLUICE_STORE_TIMEOUT` after `endMs`; what the functions throw.
   */
  readCurrent(
    wants: readonly Want[],
    endMs: number = performance.now() + this.timeoutMs,
  ): readonly (Want | undefined)[] | Promise<readonly (Want | undefined)[]> {
    const withPolicies = (want: Want, fixed: readonly Counted[] | undefined): Want | undefined =>
      fixed === undefined ? undefined : { ...want, limit: { ...want.limit, fixed } };
    const found = wants.map((want) => {
      const { fixed, read } = want.limit;
      if (fixed !== undefined || read === undefined) return want;
      const current = read(want.key);
      return isPromise(current) ? current.then((late) => withPolicies(want, late)) : withPolicies(want, current);
    });
    if (!found.some(isPromise)) return found as readonly (Want | undefined)[];
    const late = new Promise<never>((_, reject) => {
      const timer = startTimer(Math.max(endMs - performance.now(), 0), () => {
        const message = `the policies of the limiter ${this.name} were not loaded within ${String(this.timeoutMs)} ms (timeoutMs)`;
        reject(new StoreError('SLUICE_STORE_TIMEOUT', message, { sent: false }));
      });
      const stop = (): void => {
        stopTimer(timer);
      };
      Promise.all(found).then(stop, stop);
    });
    return Promise.race([Promise.all(found), late]);
  }

  /** The asks of wants whose policies are known: in the store, or as this process counts by itself. */
  asksFor(wants: readonly Want[], isLocal: boolean): readonly Ask[] {
    const asks: Ask[] = [];
    for (const want of wants) {
      const { fixed = [] } = want.limit;
      addAsks(asks, want, isLocal ? fixed.map((one) => this.#localFor(one)) : fixed, true);
    }
    return asks;
  }

  /**
   * Sends an edit to the store, and asks again for what waits for its keys.
   *
   * @throws (rejects) StoreError, which is published.
   */
  async send(op: Op, asks: readonly Ask[]): Promise<Answer> {
    try {
      const answer =
        this.#guard === undefined
          ? this.store.perform(op, asks)
          : this.#guard.perform(op, asks, performance.now() + this.timeoutMs);
      return await (isPromise(answer) ? this.track(answer) : answer);
    } catch (error) {
      throw this.report(error, false);
    } finally {
      this.waiting.changed(asks);
    }
  }

  /** Keeps an edit that could not be sent, until the store is back. */
  keep(op: Op, asks: readonly Ask[]): void {
    this.#guard?.keep(op, asks);
  }

  /** Counts work as in flight until it is done. */
  track<T>(work: Promise<T>): Promise<T> {
    const end = (): void => {
      this.#end();
    };
    this.#inFlight++;
    work.then(end, end);
    return work;
  }

  #end(): void {
    if (--this.#inFlight === 0) this.#idle?.();
  }

  /**
   * Publishes a failed call of the store.
   *
   * @param isThrown - Whether a caller is rejected, although the open breaker let no call through.
   */
  report(cause: unknown, isThrown: boolean): SluiceError {
    const error = asStoreError(cause);
    if (storeErrors.hasSubscribers && (isThrown || error.code !== 'SLUICE_BREAKER_OPEN')) {
      const { kind = 'other' } = error as Partial<StoreError>;
      storeErrors.publish({ limiter: this.name, store: this.store.source, kind, code: error.code });
    }
    return error;
  }

  /**
   * Forgets all that the limiter has counted, and what its functions have that several limiters share.
   *
   * @throws SluiceError `SLUICE_RESET_ALL_UNSUPPORTED` if the store is not memory.
   */
  resetAll(): void {
    this.checkOpen();
    const { name, store } = this;
    if (store.forget === undefined || store.source !== 'memory') {
      const what = `resetAll needs a memory store, because a store with the source ${shown(store.source)} cannot list the keys of the limiter ${name}`;
      const instead = 'reset one key with reset(key), or give each test a store of its own (in Redis: a prefix)';
      throw new SluiceError('SLUICE_RESET_ALL_UNSUPPORTED', `${what}; ${instead}; nothing was reset`);
    }
    const shared = [...this.#functions.keys()].flatMap((read) => {
      const mark = readMark(read);
      return mark?.keyName?.(this.#context) ?? mark?.name ?? [];
    });
    const owners = [`:${name}`, ...shared.map((own) => `::${own}`)];
    store.forget((key) => {
      const rest = key.slice(key.indexOf('}') + 1);
      return owners.some((owner) => rest === owner || rest.startsWith(`${owner}:`));
    });
    this.waiting.changedAll();
  }

  checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
  }

  /** Waits for what is in flight. Later calls return the same promise. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const asked = this.waiting.close();
    if (asked !== undefined) await asked;
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    forget(this);
    // Running requests release their slots when they end, which may be hours from now: close does not wait for them.
    const leave = stayOn(this.store);
    this.#release?.();
    const end = async (): Promise<void> => {
      leave();
      if (!isInUse(this.store)) await this.store.close?.();
    };
    if (this.slots.whenReleased(() => void end().catch((error: unknown) => void this.report(error, false)))) {
      await this.#closeFunctions();
      return;
    }
    await Promise.all([end(), this.#closeFunctions()]);
  }

  async #closeFunctions(): Promise<void> {
    await Promise.all([...this.#functions.values()].map((close) => close?.()));
  }
}

/** @throws TypeError if slots would be held without a holder, so that nothing could release them. */
function checkHolder(counted: readonly Counted[]): void {
  const held = counted.find(({ rule }) => rule.holds);
  if (held === undefined) return;
  const what = `the policy ${shown(held.name)} holds slots until they are released`;
  const instead = 'use limiter.acquire(key), which returns a function that releases them, or limiter.run(key, fn)';
  throw typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was consumed`);
}
