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
import { forget, isInUse, type LiveLimiter, type Status } from '../observe/live-limiters.ts';
import { isClusterWorker, startTimer, stopTimer, type Timer } from '../platform.ts';
import { compile } from '../policies/index.ts';
import { ALLOWED, BLOCKED, DELAY, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../program/decide.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Figures, Op, Store } from '../stores/store.ts';
import { checkUnits } from '../values/cost.ts';
import { parseDuration, type Duration } from '../values/duration.ts';
import { readOptions } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import { LimiterDecision, undecided, type Decision, type PolicyDecision, type Receipt } from './decision.ts';
import { newHolder } from './holder.ts';
import type { DecideOptions, DecidingOp, LimiterHost, Running } from './host.ts';
import { BLOCK, EDIT } from './limiter.ts';
import type { Acquisition, BlockOptions, EditOptions, Limiter, Reservation } from './limiter.ts';
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
import { checkNameIsFree, useName } from './names.ts';
import { LIMITER, type LimiterCoreOptions, type OnStoreError, type OnUnconfigured } from './options.ts';
import { readMark, type PolicyContext } from './policy-function.ts';
import { isWatched, publish, type Watcher } from './publish.ts';
import { editKeys, refundDecision, settleAt, settleKeys } from './settle.ts';
import { heldBy, runHolding } from './slots.ts';
import { watchThresholds } from './thresholds.ts';
import { WAIT, Waiting, type WaitOptions } from './wait.ts';

const MAX_UNITS = Number.MAX_SAFE_INTEGER;
const USUAL: DecideOptions = {};

interface LastConsumed {
  readonly key: unknown;
  readonly cost: number;
  readonly wants: readonly Want[];
  asks: readonly PolicyAsk[] | undefined;
}

/** Every limiter: what `createLimiter` returns, and what adapters and the service decide by. */
export class LimiterCore implements Limiter<string & KeyByLimit>, LiveLimiter, LimiterHost {
  readonly name: string;
  readonly store: Store;
  readonly shared: boolean;
  /** How long a decision waits for the store at most. */
  readonly timeoutMs: number;
  readonly onStoreError: OnStoreError;
  readonly onUnconfigured: OnUnconfigured;
  /** What its methods decide over: its only limit, or several by their names. */
  limits: Limit | ReadonlyMap<string, Limit> = new Map();
  readonly #ownsStore: boolean;
  readonly #localShare: number;
  readonly #uncached: boolean;
  /** What its policy functions are given. */
  readonly context: PolicyContext;
  /** None around memory, which is never late. */
  readonly #guard: Guard | undefined;
  readonly #thresholds: Watcher | undefined;
  readonly #waiting: Waiting = new Waiting(this);
  /** Limits by what was given for them, as long as that lives: requests may bring policies of their own. */
  readonly #limits = new WeakMap<object, Limit>();
  /** Those that operators and metrics see: the ones that were there from the start, unless others take their place. */
  known: Limit[] = [];
  /** The functions that return policies, and what closes those that are opened. */
  readonly #functions = new Map<unknown, (() => void | Promise<void>) | undefined>();
  /** Set once the name is claimed. */
  #leave: (() => void) | undefined;
  /** What was consumed, wanted and asked for by a key that came twice in a row: a busy key comes again and again. */
  #last: LastConsumed | undefined;
  #lastKey = '';
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const settings = readOptions(options, LIMITER, 'createLimiter');
    const { name, shared, timeoutMs, onStoreError, onThreshold, onUnconfigured, app, policies, localShare } = settings;
    if (localShare !== undefined && onStoreError !== 'local') {
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
    this.#localShare = localShare ?? 1;
    this.#uncached = !settings.denialCache;
    this.context = { app, policies, store };
    this.#guard = store.source === 'memory' ? undefined : findGuard(store);
    this.#thresholds = onThreshold === undefined ? undefined : watchThresholds(onThreshold);
  }

  /** Takes the name on the store: the last step of making a limiter, after every check. */
  claim(): void {
    const { name } = this;
    checkNameIsFree(this);
    this.#leave = this.#guard?.join(name) ?? (() => undefined);
    try {
      for (const read of this.#functions.keys()) this.#open(read);
    } catch (error) {
      this.#leave();
      void this.#closeFunctions();
      throw error;
    }
    useName(this, this.#ownsStore);
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
    const place = { limiter: this.name, context: this.context, localShare: this.#localShare, entry, field };
    const limit = readLimit(given, place);
    for (const { policy } of limit.fixed ?? []) this.store.checkPolicy?.(policy);
    if (isKept) this.#limits.set(given, limit);
    if (limit.fixed === undefined) this.#open(given);
    if (this.#leave === undefined) this.known.push(limit);
    return limit;
  }

  /** A function is opened once, when the limiter is in use. */
  #open(read: unknown): void {
    if (this.#functions.get(read) !== undefined) return;
    this.#functions.set(read, this.#leave === undefined ? undefined : readMark(read)?.open?.(this.context));
  }

  /** A service has many limits of a policy each in one limiter: that of the key tells which. */
  nameInTimeline({ name, fixed = [] }: Limit): string {
    const only = fixed.length === 1 ? fixed[0]?.suffix.slice('}:'.length) : undefined;
    return only ?? (name === this.name ? name : `${this.name}:${name}`);
  }

  policies(): readonly { readonly name: string; readonly limit: number }[] {
    return this.known.flatMap((limit) => limit.current().map(({ name, rule }) => ({ name, limit: rule.limit })));
  }

  status(): Status {
    const memory = (this.fallback ?? this.store) as { readonly size?: number };
    const lost = this.known.filter(({ mark }) => mark?.isLost?.(this.context) === true);
    return {
      store: this.store.source,
      breaker: this.#guard?.state ?? 'closed',
      keysInMemory: memory.size ?? 0,
      lostPolicies: lost.map(({ mark, name }) => mark?.name ?? name),
    };
  }

  /** The memory that decides while the store is not available; none for memory. */
  get fallback(): Store | undefined {
    return this.#guard?.fallback;
  }

  // Each method is async, or does what that would do, so that every error is a rejection.

  /** Not async: returns the store's own promise, or a settled one, without another promise around it. */
  consume(key: unknown, cost = 1): Promise<Decision> {
    try {
      const last = this.#last;
      const isLast = last !== undefined && last.key === key && last.cost === cost;
      const decided = this.decide('take', isLast ? last.wants : this.#readWants(key, cost));
      // Tested by its property: V8 then knows that a decision is no promise, and makes a settled one with half the work.
      const { then } = decided as Partial<Promise<Decision>>;
      return then === undefined ? Promise.resolve(decided) : (decided as Promise<Decision>);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }

  /** Remembers what is wanted for a key that comes twice in a row; to remember every key would cost the others. */
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
    const isKey = this.limits instanceof Map ? !looksDecided(given) : typeof given === 'string';
    if (isKey) await settleKeys(this, 'give', readWants(this.limits, given, cost === undefined ? 1 : cost));
    else await refundDecision(this, given as Decision, cost);
  }

  async charge(key: unknown, cost: number): Promise<void> {
    await settleKeys(this, 'charge', readWants(this.limits, key, cost));
  }

  async reserve(key: unknown, estimate: number): Promise<Reservation> {
    const range = 'an estimate is a whole number from 1 to 2^53 - 1';
    checkUnits(estimate, [1, MAX_UNITS], range, 'nothing was consumed; if you cannot tell, reserve 1');
    const decision = await this.consume(key, estimate);
    const settle = async (actual: number): Promise<void> => {
      const expected = 'settle takes the whole number of units that were used, from 0 to 2^53 - 1';
      checkUnits(actual, [0, MAX_UNITS], expected);
      await settleAt(this, decision, actual);
    };
    return { decision, settle, cancel: () => settle(0) };
  }

  async acquire(key: unknown, cost = 1): Promise<Acquisition> {
    const decision = await this.decide('take', this.#readHolding(key, cost));
    const slots = heldBy(this, decision);
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
    const limits =
      this.limits instanceof Map ? [...(this.limits as ReadonlyMap<string, Limit>).values()] : [this.limits as Limit];
    const mayHold = limits.some((limit) => limit.mayHold);
    const makeWants = (): readonly Want[] =>
      mayHold ? this.#readHolding(key, settings.cost) : readWants(this.limits, key, settings.cost);
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

  // eslint-disable-next-line @typescript-eslint/require-await -- async, so that every error is a rejection
  async resetAll(): Promise<void> {
    this.checkOpen();
    const { name, store } = this;
    if (store.forget === undefined || store.source !== 'memory') {
      const what = `resetAll needs a memory store, because a store with the source ${shown(store.source)} cannot list the keys of the limiter ${name}`;
      const instead = 'reset one key with reset(key), or give each test a store of its own (in Redis: a prefix)';
      throw new SluiceError('SLUICE_RESET_ALL_UNSUPPORTED', `${what}; ${instead}; nothing was reset`);
    }
    // Limiters share the keys of functions that have a name.
    const marks = [...this.#functions.keys()].map(readMark).filter((mark) => mark?.name !== undefined);
    const owners = [`:${name}`, ...marks.map((mark) => `::${mark?.keyName?.(this.context) ?? mark?.name ?? ''}`)];
    store.forget((key) => {
      const rest = key.slice(key.indexOf('}') + 1);
      return owners.some((owner) => rest === owner || rest.startsWith(`${owner}:`));
    });
    this.#waiting.changedAll();
  }

  /** What `acquire` wants: with a holder each. */
  #readHolding(key: unknown, cost: number): readonly Want[] {
    const wants = readWants(this.limits, key, cost);
    if (cost === 0) {
      const what = 'a slot is at least 1 unit, got a cost of 0';
      throw rangeError('SLUICE_COST_INVALID', `${what}; nothing was consumed`);
    }
    if (!wants.some(({ limit }) => limit.mayHold)) {
      const what = `the limiter ${this.name} has no policy that holds slots`;
      const instead = 'use consume, or add concurrency({ limit, ttl })';
      throw typeError('SLUICE_ACQUIRE_NOT_NEEDED', `${what}: ${instead}; nothing was consumed`);
    }
    return wants.map((want) => ({ ...want, holder: newHolder() }));
  }

  /**
   * Takes the cost of every want, or (`peek`, or a denial) nothing. Returns a decision at once if the store does.
   *
   * @throws TypeError `SLUICE_ACQUIRE_NEEDED`; SluiceError `SLUICE_LIMITER_CLOSED`; with `onStoreError: 'throw'`
   * StoreError; what a policy function throws. At once, or as a rejection.
   */
  decide(op: DecidingOp, wants: readonly Want[], options: DecideOptions = USUAL): Decision | Promise<Decision> {
    if (this.#closing !== undefined) this.checkOpen();
    if (options.isSilent !== true && (this.#thresholds !== undefined || isWatched())) {
      return this.#decideInPublic(op, wants, options);
    }
    let cost = 0;
    let mayHold = false;
    for (const want of wants) {
      const { limit } = want;
      if ((want.policies ?? limit.fixed) === undefined) return this.#readAndDecide(op, wants, options);
      if (limit.mayHold) mayHold = true;
      if (want.cost > cost) cost = want.cost;
    }
    const last = this.#last;
    const asks =
      last?.wants === wants ? (last.asks ??= makeAsks(wants, this.#uncached)) : makeAsks(wants, this.#uncached);
    const receipt = this.#makeReceipt(op, cost, asks);
    if (mayHold && receipt.op !== 'peek') checkHolders(asks);
    try {
      const answer = this.#perform(receipt.op, receipt.asks, options.endMs);
      const { then } = answer as Partial<Promise<Answer>>;
      if (then === undefined) return this.#conclude(receipt, answer as Answer);
      return this.#concludeLater(receipt, answer as Promise<Answer>, options);
    } catch (error) {
      return this.#fallBack(receipt, error, options);
    }
  }

  #perform(op: Op, asks: readonly Ask[], endMs?: number): Answer | Promise<Answer> {
    if (this.#guard === undefined) return this.store.perform(op, asks);
    return this.#guard.perform(op, asks, endMs ?? performance.now() + this.timeoutMs);
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
    if ((figures as Answer['figures'] | undefined)?.length !== asks.length) throw strangeAnswer();
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
   * Decides as `onStoreError` says, after the store failed or was late.
   *
   * @throws the store's error with `throw`; if there is no fallback; or if the error is a fault.
   */
  #fallBack(receipt: Receipt, cause: unknown, { onStoreError = this.onStoreError }: DecideOptions): Decision {
    const { op, asks } = receipt;
    const { fallback } = this;
    const isThrown = onStoreError === 'throw' || (onStoreError === 'local' && fallback === undefined) || isFault(cause);
    const error = this.#report(cause, isThrown);
    if (op !== 'peek' && (error as Partial<StoreError>).sent !== false) {
      // The store may have taken slots all the same. Those of a named holder, who retries, may have been held before.
      const held = asks.filter(({ holder = 0, want }) => holder > 0 && !want.isNamed);
      if (held.length > 0) this.keep('give', held);
    }
    if (isThrown) throw error;
    receipt.error = error;
    if (onStoreError !== 'local' || fallback === undefined) {
      return undecided(receipt, 'unavailable', onStoreError === 'allow', asks[0]?.counted.name ?? this.name);
    }
    receipt.isLocal = true;
    receipt.asks = makeLocal(asks);
    return this.#conclude(receipt, fallback.perform(op, receipt.asks) as Answer);
  }

  #makeReceipt(op: DecidingOp, cost: number, asks: readonly PolicyAsk[], error?: Error): Receipt {
    // A request without cost writes nothing.
    return { issuer: this, op: cost === 0 ? 'peek' : op, cost, asks, isLocal: false, isSpent: true, error };
  }

  /** Decides over limits whose policies functions return, or are still loading within the time of the decision. */
  #readAndDecide(op: DecidingOp, wants: readonly Want[], options: DecideOptions): Decision | Promise<Decision> {
    const { endMs = performance.now() + this.timeoutMs, onStoreError = this.onStoreError } = options;
    const withoutPolicy = (outcome: 'unavailable' | 'unconfigured', isAllowed: boolean, want?: Want, error?: Error) => {
      const receipt = this.#makeReceipt(op, Math.max(...wants.map(({ cost }) => cost)), [], error);
      return undecided(receipt, outcome, isAllowed, want?.limit.name ?? this.name);
    };
    const decideOver = (known: readonly Want[]): Decision | Promise<Decision> => {
      const missing = known.filter(({ policies }) => policies?.length === 0);
      const isAllowed = this.onUnconfigured === 'allow';
      if (missing.length === known.length || (missing.length > 0 && !isAllowed)) {
        return withoutPolicy('unconfigured', isAllowed, missing[0]);
      }
      return this.decide(op, known, { ...options, endMs, isSilent: true });
    };
    const known = readPolicies(wants);
    if (!(known instanceof Promise)) return decideOver(known);
    return this.track(this.#inTime(known, endMs)).then(decideOver, (cause: unknown) => {
      if (!isSluiceError(cause) || isFault(cause)) throw cause; // a function's own error: nothing is unavailable
      const error = this.#report(cause, onStoreError === 'throw');
      if (onStoreError === 'throw') throw error;
      const isAllowed = onStoreError !== 'deny';
      const what = `the limiter ${this.name} has not been able to load its policies yet (${error.message})`;
      const effect = `its requests are ${isAllowed ? 'let through' : 'denied'} until it has, as onStoreError says.`;
      warnOnce('SLUICE_POLICIES_UNKNOWN', `${what}; ${effect}`, this.name);
      return withoutPolicy(
        'unavailable',
        isAllowed,
        wants.find(({ limit }) => limit.fixed === undefined),
        error,
      );
    });
  }

  /**
   * The wants with the policies of the moment; none if no policy is configured.
   *
   * @throws (rejects) what the functions throw; StoreError `SLUICE_STORE_TIMEOUT` if they take longer than `timeoutMs`.
   */
  async readCurrent(wants: readonly Want[]): Promise<readonly Want[]> {
    const known = readPolicies(wants);
    return known instanceof Promise ? this.#inTime(known, performance.now() + this.timeoutMs) : known;
  }

  async #inTime<T>(reading: Promise<T>, endMs: number): Promise<T> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = startTimer(Math.max(endMs - performance.now(), 0), () => {
        const message = `the policies of the limiter ${this.name} were not loaded in time (timeoutMs)`;
        reject(new StoreError('SLUICE_STORE_TIMEOUT', message, { sent: false }));
      });
    });
    try {
      return await Promise.race([reading, late]);
    } finally {
      stopTimer(timer);
    }
  }

  /**
   * Sends an edit to the store, and asks again for what waits for its keys. Works after the limiter was closed, too.
   *
   * @param isLocal - Edits the memory that decides while the store is not available instead.
   * @param endMs - When it is late, by `performance.now()`. Default: in `timeoutMs`.
   * @throws (rejects) StoreError, which is published.
   */
  async send(op: Op, asks: readonly Ask[], isLocal = false, endMs?: number): Promise<Answer> {
    try {
      const answer = isLocal ? (this.fallback as Store).perform(op, asks) : this.#perform(op, asks, endMs);
      return await ('then' in answer ? this.track(answer) : answer);
    } catch (error) {
      throw this.#report(error, false);
    } finally {
      this.#waiting.changed(asks);
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
    throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
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
    // What is settled or released afterwards opens the store again, for as long as that takes.
    this.#idle = () => void this.#closeStore().catch((error: unknown) => void this.#report(error, false));
    await Promise.all([this.#closeStore(), this.#closeFunctions()]);
  }

  async #closeStore(): Promise<void> {
    if (!isInUse(this.store)) await this.store.close?.();
  }

  async #closeFunctions(): Promise<void> {
    await Promise.all([...this.#functions.values()].map(async (close) => close?.()));
  }
}

function strangeAnswer(): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store did not answer what it was asked');
}

function readFigures({ policy, counted: { name } }: PolicyAsk, figures: Figures): PolicyDecision {
  const rule = compile(policy);
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
function looksDecided(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'retryAfterMs' in given;
}

/** @throws TypeError if slots would be held without a holder, so that nothing could release them. */
function checkHolders(asks: readonly PolicyAsk[]): void {
  for (const ask of asks) if (ask.counted.rule.holds && ask.want.holder === 0) throw acquireNeeded(ask);
}

function acquireNeeded({ counted: { name } }: PolicyAsk): TypeError {
  const what = `the policy ${shown(name)} holds slots until they are released`;
  const instead = 'use limiter.acquire(key), which returns a function that releases them, or limiter.run(key, fn)';
  return typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was consumed`);
}
