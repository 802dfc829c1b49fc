import { storeErrors } from '../channels.ts';
import {
  asStoreError,
  isSluiceError,
  PolicyError,
  rangeError,
  shown,
  SluiceError,
  StoreError,
  typeError,
} from '../errors.ts';
import { findGuard, isFault, type Guard } from '../guard/guard.ts';
import { forget, liveLimiters, remember, type LiveLimiter, type Status } from '../observe/live-limiters.ts';
import { isClusterWorker, startTimer, stopTimer, type Timer } from '../platform.ts';
import { ALLOWED, BLOCKED, DELAY, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../program/decide.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Figures, Op, Store } from '../stores/store.ts';
import { checkUnits } from '../values/cost.ts';
import { parseDuration, type Duration } from '../values/duration.ts';
import { readOptions } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import { LimiterDecision, makeUndecided, type Decision, type PolicyDecision, type Receipt } from './decision.ts';
import { newHolder } from './holder.ts';
import { BLOCK, EDIT } from './limiter.ts';
import type { Acquisition, BlockOptions, EditOptions, Limiter, Reservation, Running } from './limiter.ts';
import {
  makeAsks,
  makeLocal,
  readLimit,
  readPolicies,
  readWants,
  type KeyByLimit,
  type Limit,
  type PolicyAsk,
  type Want,
} from './limits.ts';
import { LIMITER, type LimiterCoreOptions, type OnStoreError, type OnUnconfigured } from './options.ts';
import type { PolicyContext, PolicyMark } from './policy-function.ts';
import { isWatched, publish, type Watcher } from './publish.ts';
import { editKeys, refundDecision, settle, settleKeys } from './settle.ts';
import { findSlots, runHolding } from './slots.ts';
import { watchThresholds } from './thresholds.ts';
import { WAIT, Waiting, type WaitOptions } from './wait.ts';

const MAX_UNITS = Number.MAX_SAFE_INTEGER;

/** `try` is a `take` whose denial starts no block. */
export type DecidingOp = 'take' | 'peek' | 'try';

/** How to decide a request, apart from what it takes. */
export interface DecideOptions {
  /** The decision's deadline, by `performance.now()`. Default: `timeoutMs` from now. */
  readonly endMs?: number | undefined;
  /** What to do if the store fails. Default: the limiter's own option. */
  readonly onStoreError?: OnStoreError | undefined;
  /** Whether the caller publishes the decision itself. */
  readonly isSilent?: boolean;
}

const USUAL: DecideOptions = {};

interface LastConsumed {
  readonly key: unknown;
  readonly cost: number;
  readonly wants: readonly Want[];
  asks: readonly PolicyAsk[] | undefined;
}

/** Every limiter: what `createLimiter` returns, and what adapters and the service use. */
export class LimiterCore implements Limiter<string & KeyByLimit>, LiveLimiter {
  readonly name: string;
  readonly store: Store;
  readonly shared: boolean;
  /** How long a decision may wait for the store. */
  readonly timeoutMs: number;
  readonly onStoreError: OnStoreError;
  readonly onUnconfigured: OnUnconfigured;
  /** What its methods decide over: its only limit, or several by name. */
  limits: Limit | ReadonlyMap<string, Limit> = new Map();
  readonly #ownsStore: boolean;
  readonly #localShare: number;
  readonly #uncached: boolean;
  /** What its policy functions receive. */
  readonly context: PolicyContext;
  /** A memory store has none, because it is never late. */
  readonly guard: Guard | undefined;
  readonly #thresholds: Watcher | undefined;
  readonly #waiting: Waiting = new Waiting(this);
  /** Limits by the objects that define them, while those live: requests may bring their own policies. */
  readonly #limits = new WeakMap<object, Limit>();
  /** The limits that operators and metrics see: those it was created with, unless others replace them. */
  known: Limit[] = [];
  /** What its policy functions have opened, once each, with the functions that close it. */
  readonly #opened = new Map<object, (() => unknown) | undefined>();
  /** Set once the name is claimed. */
  #leave: (() => void) | undefined;
  /** What was consumed and asked for a key that came twice in a row: a busy key keeps coming back. */
  #last: LastConsumed | undefined;
  #lastKey = '';
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. Only {@link claim} claims the name. */
  constructor(options: LimiterCoreOptions) {
    const settings = readOptions(options, LIMITER, 'createLimiter');
    const { name, shared, timeoutMs, onStoreError, onThreshold, onUnconfigured, app, policies, localShare } = settings;
    if (localShare !== 1 && onStoreError !== 'local') {
      const got = `got ${shown(localShare)}`;
      const message = `localShare must be left out if onStoreError is not "local", ${got}`;
      throw new PolicyError('localShare', message, 'SLUICE_OPTION_INVALID');
    }
    const { store = memoryStore() } = settings;
    this.name = name;
    this.store = store;
    this.shared = shared;
    this.timeoutMs = timeoutMs;
    this.onStoreError = onStoreError;
    this.onUnconfigured = onUnconfigured;
    this.#ownsStore = settings.store === undefined;
    this.#localShare = localShare;
    this.#uncached = !settings.denialCache;
    this.context = { app, policies, store };
    this.guard = store.source === 'memory' ? undefined : findGuard(store);
    this.#thresholds = onThreshold === undefined ? undefined : watchThresholds(onThreshold);
  }

  /** Claims the name on the store: the last step of creating a limiter, after every check. */
  claim(): void {
    const { name } = this;
    remember(this, this.#ownsStore);
    this.#leave = this.guard?.join(name) ?? (() => undefined);
    try {
      for (const { mark } of this.known) this.#open(mark);
    } catch (error) {
      forget(this);
      this.#leave();
      this.#closeOpened().catch(() => undefined);
      throw error;
    }
    if (this.guard !== undefined || !isClusterWorker()) return;
    const what = `the limiter ${shown(name)} counts in the memory of this worker, and every worker of a cluster has its own`;
    const then = 'N workers together allow N times the limit. Pass store: redisStore(...).';
    warnOnce('SLUICE_MEMORY_IN_CLUSTER', `${what}: ${then}`);
  }

  /**
   * The limit of a policy, of a list of named policies, or of a function that returns one of these: always the same for
   * the same object.
   *
   * @param entry - The name of its entry in `limits`.
   * @throws PolicyError.
   */
  limitFor(given: unknown, entry?: string, field?: string): Limit {
    const isKept = entry === undefined && (typeof given === 'function' || typeof given === 'object') && given !== null;
    const known = isKept ? this.#limits.get(given) : undefined;
    if (known !== undefined) return known;
    const place = { limiter: this.name, context: this.context, localShare: this.#localShare, entry, field };
    const limit = readLimit(given, place);
    for (const { policy } of limit.fixed ?? []) this.store.checkPolicy?.(policy);
    if (this.#leave === undefined) this.known.push(limit);
    else this.#open(limit.mark);
    if (isKept) this.#limits.set(given, limit);
    return limit;
  }

  #open(mark: PolicyMark | undefined): void {
    const open = mark?.open;
    if (open === undefined || this.#opened.has(open)) return;
    this.checkOpen();
    this.#opened.set(open, open(this.context));
  }

  async #closeOpened(): Promise<void> {
    const close = async (closer: (() => unknown) | undefined): Promise<void> => {
      await closer?.(); // async, so that what it throws keeps no other from being called
    };
    await Promise.all(Array.from(this.#opened.values(), close));
  }

  /** In a service, one limiter has many limits with one policy each: the key's limit tells which. */
  nameInTimeline({ name, fixed = [] }: Limit): string {
    const only = fixed.length === 1 ? fixed[0]?.suffix.slice('}:'.length) : undefined;
    return only ?? (name === this.name ? name : `${this.name}:${name}`);
  }

  policies(): readonly { readonly name: string; readonly limit: number }[] {
    return this.known.flatMap((limit) => limit.current().map(({ name, rule }) => ({ name, limit: rule.limit })));
  }

  status(): Status {
    const memory = (this.guard?.fallback ?? this.store) as { readonly size?: number };
    const lost = this.known.filter(({ mark }) => mark?.isLost?.(this.context) === true);
    return {
      store: this.store.source,
      breaker: this.guard?.state ?? 'closed',
      keysInMemory: memory.size ?? 0,
      lostPolicies: lost.map(({ mark, name }) => mark?.name ?? name),
    };
  }

  // Each method is async, or behaves like it, so that every error is a rejection.

  /** Not async: returns the store's own promise, or a settled one, without wrapping it in another. */
  consume(key: unknown, cost = 1): Promise<Decision> {
    try {
      const last = this.#last;
      const isLast = last !== undefined && last.key === key && last.cost === cost;
      const decided = this.decide('take', isLast ? last.wants : this.#readWants(key, cost));
      // Checks a property: V8 then knows that a decision is not a promise, and creates a settled one in half the time.
      const { then } = decided as Partial<Promise<Decision>>;
      return then === undefined ? Promise.resolve(decided) : (decided as Promise<Decision>);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }

  /** Remembers what is taken from a key that comes twice in a row; remembering every key would slow down the others. */
  #readWants(key: unknown, cost: number): readonly Want[] {
    const wants = readWants(this.limits, key, cost);
    if (typeof key !== 'string') return wants; // an object may hold other keys the next time
    if (key === this.#lastKey) this.#last = { key, cost, wants, asks: undefined };
    this.#lastKey = key;
    return wants;
  }

  async peek(key: unknown, cost = 1): Promise<Decision> {
    return this.decide('peek', readWants(this.limits, key, cost));
  }

  async refund(given: unknown, cost?: number): Promise<void> {
    const isKey = this.limits instanceof Map ? !isDecisionLike(given) : typeof given === 'string';
    if (isKey) await settleKeys(this, 'give', readWants(this.limits, given, cost === undefined ? 1 : cost));
    else await refundDecision(this, given as Decision, cost);
  }

  async charge(key: unknown, cost: number): Promise<void> {
    await settleKeys(this, 'charge', readWants(this.limits, key, cost));
  }

  async reserve(key: unknown, estimate: number): Promise<Reservation> {
    const range = 'an estimate must be a whole number from 1 to 2^53 - 1';
    checkUnits(estimate, [1, MAX_UNITS], range, 'nothing was consumed; if you have no estimate, reserve 1');
    const decision = await this.consume(key, estimate);
    const settleAt = async (actual: number): Promise<void> => {
      const expected = 'settle takes the number of units used, a whole number from 0 to 2^53 - 1';
      checkUnits(actual, [0, MAX_UNITS], expected);
      const beyond = actual - decision.cost;
      await settle(this, decision, beyond > 0 ? 'charge' : 'give', () => Math.abs(beyond));
    };
    return { decision, settle: settleAt, cancel: () => settleAt(0) };
  }

  async acquire(key: unknown, cost = 1): Promise<Acquisition> {
    const decision = await this.decide('take', this.#addHolders(readWants(this.limits, key, cost)));
    const slots = findSlots(this, decision);
    const release = async (): Promise<void> => slots?.release();
    return { decision, release, renew: async () => (await slots?.renew()) ?? false };
  }

  async wait(key: unknown, options: WaitOptions = {}): Promise<Decision> {
    const settings = readOptions(options, WAIT, 'wait');
    const wants = readWants(this.limits, key, settings.cost);
    return this.#waiting.wait(() => wants, settings);
  }

  async run<Result>(
    key: unknown,
    fn: (running: Running) => Result | Promise<Result>,
    options: WaitOptions = {},
  ): Promise<Result> {
    if (typeof fn !== 'function') {
      const expected = 'run takes a key and a function';
      throw typeError('SLUICE_OPTION_INVALID', `${expected}, got ${shown(fn)}; nothing was consumed`);
    }
    const settings = readOptions(options, WAIT, 'run');
    const wants = readWants(this.limits, key, settings.cost);
    const mayHold = wants.some(({ limit }) => limit.mayHold);
    const makeWants = (): readonly Want[] => (mayHold ? this.#addHolders(wants) : wants);
    const decision = await this.#waiting.wait(makeWants, settings);
    return runHolding(this, decision, settings.signal, fn);
  }

  async reset(key: unknown, options: EditOptions = {}): Promise<void> {
    const why = readOptions(options, EDIT, 'reset');
    await editKeys(this, 'reset', readWants(this.limits, key, 0), why);
  }

  async block(key: unknown, duration: Duration, options: BlockOptions = {}): Promise<void> {
    const until = parseDuration(duration, 'duration', 'SLUICE_OPTION_INVALID');
    const { reset, ...why } = readOptions(options, BLOCK, 'block');
    await editKeys(this, 'block', readWants(this.limits, key, reset ? 1 : 0), { ...why, until });
  }

  async unblock(key: unknown, options: EditOptions = {}): Promise<void> {
    const why = readOptions(options, EDIT, 'unblock');
    await editKeys(this, 'block', readWants(this.limits, key, 0), why);
  }

  /** Adds a holder to each want, for slots. */
  #addHolders(wants: readonly Want[]): readonly Want[] {
    if (wants.every(({ cost }) => cost === 0)) {
      const what = 'acquire takes a cost of at least 1, got 0';
      throw rangeError('SLUICE_COST_INVALID', `${what}; nothing was consumed`);
    }
    if (!wants.some(({ limit }) => limit.mayHold)) {
      const what = `the limiter ${shown(this.name)} has no policy that holds slots`;
      const instead = 'use consume, or add concurrency({ limit, ttl })';
      throw typeError('SLUICE_ACQUIRE_NOT_NEEDED', `${what}: ${instead}; nothing was consumed`);
    }
    return wants.map((want) => ({ ...want, holder: newHolder() }));
  }

  /**
   * Takes the cost of every want, or nothing for `peek` and for a denial. Returns a decision at once if the store
   * answers at once.
   *
   * @throws TypeError `SLUICE_ACQUIRE_NEEDED`; SluiceError `SLUICE_LIMITER_CLOSED`; with `onStoreError: 'throw'`
   * StoreError; or what a policy function throws. At once, or as a rejection.
   */
  decide(op: DecidingOp, wants: readonly Want[], options: DecideOptions = USUAL): Decision | Promise<Decision> {
    if (this.#closing !== undefined) this.checkOpen();
    if (options.isSilent !== true && (this.#thresholds !== undefined || isWatched())) {
      return this.#decideInPublic(op, wants, options);
    }
    let cost = 0;
    let mayHold = false;
    let missing: Want | undefined;
    for (const want of wants) {
      const policies = want.policies ?? want.limit.fixed;
      if (policies === undefined) return this.#readAndDecide(op, wants, options);
      if (policies.length === 0) missing ??= want;
      if (want.limit.mayHold) mayHold = true;
      if (want.cost > cost) cost = want.cost;
    }
    const last = this.#last;
    const asks =
      last?.wants === wants ? (last.asks ??= makeAsks(wants, this.#uncached)) : makeAsks(wants, this.#uncached);
    // A request with cost 0 writes nothing.
    const receipt = makeReceipt(this, cost === 0 ? 'peek' : op, cost, asks);
    if (missing !== undefined && (asks.length === 0 || this.onUnconfigured === 'deny')) {
      return makeUndecided(receipt, 'unconfigured', this.onUnconfigured === 'allow', missing.limit.name);
    }
    if (mayHold && receipt.op !== 'peek') checkHolders(asks);
    try {
      const answer = this.#perform(receipt.op, asks, options.endMs);
      const { then } = answer as Partial<Promise<Answer>>;
      if (then === undefined) return this.#conclude(receipt, answer as Answer);
      return this.#concludeLater(receipt, answer as Promise<Answer>, options);
    } catch (error) {
      return this.#fallBack(receipt, error, options);
    }
  }

  #perform(op: Op, asks: readonly Ask[], endMs?: number): Answer | Promise<Answer> {
    if (this.guard === undefined) return this.store.perform(op, asks);
    return this.guard.perform(op, asks, endMs ?? performance.now() + this.timeoutMs);
  }

  /** Decides, and publishes the decision. */
  #decideInPublic(op: DecidingOp, wants: readonly Want[], options: DecideOptions): Decision | Promise<Decision> {
    const startMs = performance.now();
    const publishNow = (decision: Decision): Decision => {
      this.publish(op, decision, startMs);
      return decision;
    };
    const decided = this.decide(op, wants, { ...options, isSilent: true });
    return decided instanceof Promise ? decided.then(publishNow) : publishNow(decided);
  }

  /**
   * Publishes a decision of this limiter.
   *
   * @param startMs - When the request came, by `performance.now()`.
   */
  publish(op: DecidingOp, decision: Decision, startMs: number): void {
    if (this.#thresholds === undefined && !isWatched()) return;
    const durationMs = performance.now() - startMs;
    const wants = LimiterDecision.readReceipt(decision)?.asks.map(({ want }) => want) ?? [];
    const seen = { limiter: this, op: op === 'peek' ? op : ('consume' as const), decision, durationMs, wants };
    this.#thresholds?.(seen);
    publish(seen);
  }

  async #concludeLater(receipt: Receipt, answer: Promise<Answer>, options: DecideOptions): Promise<Decision> {
    this.#inFlight++;
    try {
      return this.#conclude(receipt, await answer);
    } catch (error) {
      return this.#fallBack(receipt, error, options);
    } finally {
      this.#end();
    }
  }

  #conclude(receipt: Receipt, answer: Answer): Decision {
    const { asks } = receipt;
    const { figures } = answer;
    if ((figures as Answer['figures'] | undefined)?.length !== asks.length) throw invalidAnswer();
    const policies = new Array<PolicyDecision>(figures.length); // not pushed to: V8 makes room for 17 then
    let isBlocked = false;
    for (let i = 0; i < figures.length; i++) {
      const of = figures[i] as Figures;
      if ((of[BLOCKED] as number) > 0) isBlocked = true;
      policies[i] = readFigures(asks[i] as PolicyAsk, of);
    }
    const source = answer.source ?? (receipt.isLocal ? 'local' : this.store.source);
    const decision = new LimiterDecision(receipt, policies, source, answer.atMs, isBlocked);
    receipt.isSpent = receipt.op === 'peek' || !decision.allowed;
    return decision;
  }

  /**
   * Decides as `onStoreError` says after the store failed or was late. Without asks, the policies are not known yet,
   * and `local` allows.
   *
   * @throws the store's error with `throw`; if there is no fallback; or if the error is a fault.
   */
  #fallBack(receipt: Receipt, cause: unknown, options: DecideOptions, name = this.name): Decision {
    const { op, asks } = receipt;
    const { onStoreError = this.onStoreError } = options;
    const isLocal = onStoreError === 'local' && asks.length > 0;
    const isThrown = onStoreError === 'throw' || (isLocal && this.guard === undefined) || isFault(cause);
    const error = this.#report(cause, isThrown);
    if (op !== 'peek' && (error as Partial<StoreError>).sent !== false) {
      // The store may have taken slots anyway. Those of a named holder, which retries, may have been held before.
      const held = asks.filter(({ holder = 0, want }) => holder > 0 && !want.isNamed);
      if (held.length > 0) this.guard?.keep('give', held);
    }
    if (isThrown) throw error;
    receipt.error = error;
    if (!isLocal) return makeUndecided(receipt, 'unavailable', onStoreError !== 'deny', asks[0]?.counted.name ?? name);
    receipt.isLocal = true;
    receipt.asks = makeLocal(asks);
    return this.#conclude(receipt, (this.guard as Guard).fallback.perform(op, receipt.asks));
  }

  /**
   * Decides over limits whose policies come from functions, which may still be loading them within the decision's
   * deadline.
   */
  #readAndDecide(op: DecidingOp, wants: readonly Want[], options: DecideOptions): Decision | Promise<Decision> {
    const { endMs = performance.now() + this.timeoutMs } = options;
    const decideOver = (known: readonly Want[]): Decision | Promise<Decision> =>
      this.decide(op, known, { ...options, endMs, isSilent: true });
    const current = this.readCurrent(wants, endMs);
    if (!(current instanceof Promise)) return decideOver(current);
    return this.track(current).then(decideOver, (cause: unknown) => {
      if (!isSluiceError(cause)) throw cause; // a function's own error: nothing is unavailable
      const receipt = makeReceipt(this, op, Math.max(...wants.map(({ cost }) => cost)), []);
      return this.#fallBack(receipt, cause, options, wants.find(({ limit }) => limit.fixed === undefined)?.limit.name);
    });
  }

  /**
   * Adds the current policies to the wants; none if no policy is configured.
   *
   * @throws (at once, or as a rejection) what the functions throw; StoreError `SLUICE_STORE_TIMEOUT` if they take too
   * long.
   */
  readCurrent(
    wants: readonly Want[],
    endMs: number = performance.now() + this.timeoutMs,
  ): readonly Want[] | Promise<readonly Want[]> {
    const reading = readPolicies(wants);
    if (!(reading instanceof Promise)) return reading;
    let timer: Timer;
    const late = new Promise<never>((_, reject) => {
      timer = startTimer(Math.max(endMs - performance.now(), 0), () => {
        const message = `the policies of the limiter ${shown(this.name)} were not loaded in time (timeoutMs)`;
        reject(new StoreError('SLUICE_STORE_TIMEOUT', message, { sent: false }));
      });
    });
    return Promise.race([reading, late]).finally(() => {
      stopTimer(timer);
    });
  }

  /**
   * Sends an edit to the store, and asks again for requests that wait for its keys. Also works after the limiter was
   * closed.
   *
   * @param isLocal - Edits the fallback memory instead of the store.
   * @param endMs - Its deadline, by `performance.now()`. Default: `timeoutMs` from now.
   * @throws (rejects) StoreError, which is published.
   */
  async send(op: Op, asks: readonly Ask[], isLocal = false, endMs?: number): Promise<Answer> {
    try {
      const answer = isLocal ? (this.guard as Guard).fallback.perform(op, asks) : this.#perform(op, asks, endMs);
      return await ('then' in answer ? this.track(answer) : answer);
    } catch (error) {
      throw this.#report(error, false);
    } finally {
      this.#waiting.changed(asks);
    }
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
   * Publishes a failed call to the store.
   *
   * @param isThrown - Whether a caller gets the rejection; an open breaker lets no call through.
   */
  #report(cause: unknown, isThrown: boolean): SluiceError {
    const error = asStoreError(cause);
    if (storeErrors.hasSubscribers && (isThrown || error.code !== 'SLUICE_BREAKER_OPEN')) {
      const { kind = 'other' } = error as Partial<StoreError>;
      storeErrors.publish({ limiter: this.name, store: this.store.source, kind, code: error.code });
    }
    return error;
  }

  checkOpen(): void {
    if (this.#closing === undefined) return;
    throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${shown(this.name)} is closed`);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#waiting.close();
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    forget(this);
    this.#leave?.();
    // Settling or releasing afterwards reopens the store for as long as that takes.
    this.#idle = () => void this.#closeStore().catch((error: unknown) => void this.#report(error, false));
    await Promise.all([this.#closeStore(), this.#closeOpened()]);
  }

  async #closeStore(): Promise<void> {
    if (!liveLimiters().some(({ store }) => store === this.store)) await this.store.close?.();
  }
}

function makeReceipt(issuer: object, op: Op, cost: number, asks: readonly PolicyAsk[]): Receipt {
  return { issuer, op, cost, asks, isLocal: false, isSpent: true, error: undefined };
}

function invalidAnswer(): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', 'the answer does not match the call');
}

function readFigures({ counted: { name, rule } }: PolicyAsk, figures: Figures): PolicyDecision {
  const of = figures as readonly number[] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6, number>;
  const decided = {
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
  return rule.holds ? Object.assign(decided, HELD) : decided;
}

const HELD = { unit: 'concurrent-requests' as const };

/** Whether a value was meant as a decision rather than as keys. */
function isDecisionLike(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'retryAfterMs' in given;
}

/** @throws TypeError if slots would be held without a holder, which could never be released. */
function checkHolders(asks: readonly PolicyAsk[]): void {
  for (const { counted, want } of asks) {
    if (!counted.rule.holds || want.holder !== 0) continue;
    const what = `the policy ${shown(counted.name)} holds slots until they are released`;
    const instead = 'use limiter.acquire(key), which returns a function that releases them, or limiter.run(key, fn)';
    throw typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was consumed`);
  }
}
