import { storeErrors } from '../channels.ts';
import { PolicyError, SluiceError, StoreError, asStoreError, shown, typeError } from '../errors.ts';
import { guardOf, isFault, type Guard } from '../guard/guard.ts';
import { forget, type LiveLimiter, type Status } from '../observe/live-limiters.ts';
import { isClusterWorker, startTimer, stopTimer, type Timer } from '../platform.ts';
import { ALLOWED, BLOCKED, DELAY, NEXT_AFTER, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../program/decide.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Figures, Op, Store } from '../stores/store.ts';
import { readOptions } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import { LimiterDecision, undecided, type Decision, type PolicyDecision, type Receipt } from './decision.ts';
import type { DecideOptions, DecidingOp, LimiterHost } from './host.ts';
import {
  askForUnit,
  joinAsks,
  makeAsks,
  readLimit,
  readLocal,
  readWant,
  type Counted,
  type Limit,
  type PolicyAsk,
  type Want,
} from './limits.ts';
import { checkNameIsFree, isInUse, stayOn, useName } from './names.ts';
import {
  checkSettings,
  LIMITER,
  type LimiterCoreOptions,
  type LimiterSettings,
  type OnStoreError,
  type OnUnconfigured,
} from './options.ts';
import { readMark, type PolicyContext, type PolicyMark } from './policy-function.ts';
import { isWatched, publish, type Watcher } from './publish.ts';
import { Slots } from './slots.ts';
import { watchThresholds } from './thresholds.ts';
import { WaitQueues } from './wait-queues.ts';

export type { DecideOptions } from './host.ts';

/** One decision under way, which becomes its receipt. */
interface Call extends Receipt {
  asks: readonly PolicyAsk[];
  readonly onStoreError: OnStoreError;
}

/** A want whose function is still loading its policies. */
interface Loading {
  readonly want: Want;
  readonly policies: Promise<readonly Counted[]>;
}

const NO_ASKS: readonly PolicyAsk[] = [];
const USUAL: DecideOptions = {};

/** The base of `createLimiter` and the adapters: decides over limits in one store. */
export class LimiterCore implements LiveLimiter, LimiterHost {
  readonly name: string;
  readonly store: Store;
  readonly shared: boolean;
  /** How long a decision waits for the store at most. */
  readonly timeoutMs: number;
  readonly onStoreError: OnStoreError;
  readonly onUnconfigured: OnUnconfigured;
  /** The slots that decisions of the limiter hold. */
  readonly slots: Slots = new Slots(this);
  /** Requests that wait until they are allowed. */
  readonly waiting: WaitQueues = new WaitQueues(this);
  readonly #settings: LimiterSettings;
  readonly #uncached: boolean;
  /** What its policy functions are given. */
  readonly context: PolicyContext;
  /** None around memory, which is never late. */
  readonly #guard: Guard | undefined;
  readonly #thresholds: Watcher | undefined;
  /** Limits by what was given for them, as long as that lives: requests may bring policies of their own. */
  readonly #limits = new WeakMap<object, Limit>();
  /** Those that operators and metrics see: the ones that were there from the start, unless others take their place. */
  known: Limit[] = [];
  /** How the functions are marked that have a name, whose keys limiters share. */
  readonly #shared = new Map<string, PolicyMark>();
  /** Functions that are opened, and what closes them. */
  readonly #functions = new Map<unknown, (() => void | Promise<void>) | undefined>();
  /** Set once the name is claimed. */
  #leave: (() => void) | undefined;
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const settings = readOptions(options, LIMITER, 'createLimiter');
    checkSettings(settings);
    const {
      name,
      store = memoryStore(),
      shared,
      timeoutMs,
      onStoreError,
      onThreshold,
      onUnconfigured,
      denialCache,
      app,
      policies,
    } = settings;
    this.name = name;
    this.store = store;
    this.shared = shared;
    this.timeoutMs = timeoutMs;
    this.onStoreError = onStoreError;
    this.onUnconfigured = onUnconfigured;
    this.#uncached = !denialCache;
    this.#settings = settings;
    this.context = { app, policies, store };
    this.#guard = store.source === 'memory' ? undefined : guardOf(store);
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
    useName(this, this.#settings.store === undefined);
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
    const limit = readLimit(given, { limiter: this.name, context: this.context, entry, field });
    for (const one of limit.fixed ?? []) {
      this.#localFor(one);
      this.store.checkPolicy?.(one.policy);
    }
    if (isKept) this.#limits.set(given, limit);
    if (limit.fixed === undefined) this.#open(given);
    if (this.#leave === undefined) this.known.push(limit);
    return limit;
  }

  /** A function is opened once, when the limiter is in use. */
  #open(read: unknown): void {
    const mark = readMark(read);
    if (mark?.name !== undefined) this.#shared.set(mark.name, mark);
    const open = mark?.open;
    if (open === undefined || this.#functions.get(read) !== undefined) return;
    this.#functions.set(read, this.#leave === undefined ? undefined : open(this.context));
  }

  /** What this process allows of a policy by itself. */
  #localFor(counted: Counted): Counted {
    return readLocal(counted, this.#settings.localShare ?? 1);
  }

  policies(): readonly { readonly name: string; readonly limit: number }[] {
    return this.known.flatMap(({ fixed = [] }) => fixed.map(({ name, rule }) => ({ name, limit: rule.limit })));
  }

  /** The state of the limiter's store, as far as this process knows. Makes no call. */
  status(): Status {
    const memory = (this.fallback ?? this.store) as { readonly size?: number };
    return { store: this.store.source, breaker: this.#guard?.state ?? 'closed', keysInMemory: memory.size ?? 0 };
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
    if (options.isSilent !== true && (this.#thresholds !== undefined || isWatched())) {
      return this.#decideInPublic(op, wants, options);
    }
    let asks: readonly PolicyAsk[] = NO_ASKS;
    let missing: Limit | undefined;
    let mayHold = false;
    let cost = 0;
    for (const want of wants) {
      const { limit } = want;
      const policies = want.policies ?? limit.fixed ?? limit.read(want.key);
      if (policies instanceof Promise) return this.#decideLater(op, wants, options, { want, policies });
      if (policies.length === 0) missing ??= limit;
      asks = joinAsks(asks, makeAsks(want, policies, this.#uncached));
      cost = Math.max(cost, want.cost);
      mayHold ||= limit.mayHold;
    }
    if (missing !== undefined && (asks.length === 0 || this.onUnconfigured === 'deny')) {
      const receipt = this.#begin(op, cost, asks, this.onStoreError);
      return undecided(receipt, 'unconfigured', this.onUnconfigured === 'allow', missing.name);
    }
    if (mayHold && op !== 'peek' && cost > 0) checkHolders(asks);
    return this.#ask(this.#begin(op, cost, asks, options.onStoreError ?? this.onStoreError), options.endMs);
  }

  /**
   * Takes a unit of one limit, as `decide` does, and in less time: to join and hash keys costs more than to decide, so what
   * was asked for the last keys is remembered.
   */
  takeUnit(limit: Limit, key: unknown): Decision | Promise<Decision> {
    if (limit.asked === undefined) return this.decide('take', [readWant(limit, key, 1)]);
    const asks = limit.asked.get(key as string) ?? askForUnit(limit, key, this.#uncached);
    if (this.#closing !== undefined || this.#thresholds !== undefined || isWatched()) {
      return this.decide(
        'take',
        asks.slice(0, 1).map(({ want }) => want),
      );
    }
    return this.#ask(this.#begin('take', 1, asks, this.onStoreError), undefined);
  }

  #begin(op: DecidingOp, cost: number, asks: readonly PolicyAsk[], onStoreError: OnStoreError): Call {
    // A request without cost writes nothing.
    return {
      issuer: this,
      op: cost === 0 ? 'peek' : op,
      cost,
      asks,
      isLocal: false,
      isSpent: true,
      error: undefined,
      onStoreError,
    };
  }

  #ask(call: Call, endMs: number | undefined): Decision | Promise<Decision> {
    const guard = this.#guard;
    try {
      const answer =
        guard === undefined
          ? this.store.perform(call.op, call.asks)
          : guard.perform(call.op, call.asks, endMs ?? performance.now() + this.timeoutMs);
      return 'then' in answer ? this.#concludeLater(call, answer) : this.#conclude(call, answer);
    } catch (error) {
      return this.#fallBack(call, error);
    }
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
    const wants = (LimiterDecision.readReceipt(decision) as Call).asks.map(({ want }) => want);
    publish({ limiter: this, op: op === 'peek' ? op : 'consume', decision, durationMs, wants }, this.#thresholds);
  }

  async #concludeLater(call: Call, answer: Promise<Answer>): Promise<Decision> {
    this.#inFlight++;
    try {
      return this.#conclude(call, await answer);
    } catch (error) {
      return this.#fallBack(call, error);
    } finally {
      this.#end();
    }
  }

  #conclude(call: Call, { figures, atMs, source: remembered }: Answer): Decision {
    if ((figures as Answer['figures'] | undefined)?.length !== call.asks.length) {
      throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store did not answer what it was asked');
    }
    const source = remembered ?? (call.isLocal ? 'local' : this.store.source);
    const policies = new Array<PolicyDecision>(figures.length); // not pushed to: V8 makes room for 17 then
    let isBlocked = false;
    for (let i = 0; i < figures.length; i++) {
      const of = figures[i] as Figures;
      if ((of[BLOCKED] as number) > 0) isBlocked = true;
      policies[i] = readFigures((call.asks[i] as PolicyAsk).counted, of);
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
    const { op, asks, onStoreError } = call;
    const { fallback } = this;
    const isThrown = onStoreError === 'throw' || (onStoreError === 'local' && fallback === undefined) || isFault(cause);
    const error = this.report(cause, isThrown);
    if (op !== 'peek' && (error as Partial<StoreError>).sent !== false) this.slots.releaseUnseen(asks);
    if (isThrown) throw error;
    call.error = error;
    if (onStoreError !== 'local' || fallback === undefined) {
      return undecided(call, 'unavailable', onStoreError === 'allow', asks[0]?.counted.name ?? this.name);
    }
    call.isLocal = true;
    call.asks = asks.map((ask) => {
      const counted = this.#localFor(ask.counted);
      return { ...ask, counted, policy: counted.policy };
    });
    return this.#conclude(call, fallback.perform(op, call.asks) as Answer);
  }

  /** Decides over limits that functions are still loading, within the time of the decision. */
  #decideLater(op: DecidingOp, wants: readonly Want[], options: DecideOptions, loading: Loading): Promise<Decision> {
    const { endMs = performance.now() + this.timeoutMs, onStoreError = this.onStoreError } = options;
    return this.track(this.readCurrent(wants, endMs, loading)).then(
      (current) => this.decide(op, current, { ...options, endMs, isSilent: true }),
      (cause: unknown) => {
        if (cause instanceof PolicyError || isFault(cause)) throw cause;
        const error = this.report(cause, onStoreError === 'throw');
        if (onStoreError === 'throw') throw error;
        const isAllowed = onStoreError !== 'deny';
        const what = `the limiter ${this.name} has not been able to load its policies yet (${error.message})`;
        const effect = `its requests are ${isAllowed ? 'let through' : 'denied'} until it has, as onStoreError says.`;
        warnOnce('SLUICE_POLICIES_UNKNOWN', `${what}; ${effect}`, this.name);
        const cost = Math.max(...wants.map((want) => want.cost));
        const receipt = { ...this.#begin(op, cost, NO_ASKS, onStoreError), error };
        const name = wants.find(({ limit }) => limit.fixed === undefined)?.limit.name ?? this.name;
        return undecided(receipt, 'unavailable', isAllowed, name);
      },
    );
  }

  /**
   * The wants with the policies of the moment; none if no policy is configured.
   *
   * @throws (rejects) what the functions throw; StoreError `SLUICE_STORE_TIMEOUT` if they take longer.
   */
  async readCurrent(
    wants: readonly Want[],
    endMs: number = performance.now() + this.timeoutMs,
    loading?: Loading,
  ): Promise<readonly Want[]> {
    if (wants.every(({ limit }) => limit.fixed !== undefined)) return wants;
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = startTimer(Math.max(endMs - performance.now(), 0), () => {
        const message = `the policies of the limiter ${this.name} were not loaded in time (timeoutMs)`;
        reject(new StoreError('SLUICE_STORE_TIMEOUT', message, { sent: false }));
      });
    });
    const reading = wants.map(async (want) => {
      const policies = want === loading?.want ? loading.policies : want.limit.read(want.key);
      return { ...want, policies: await policies };
    });
    try {
      return await Promise.race([Promise.all(reading), late]);
    } finally {
      stopTimer(timer);
    }
  }

  /** The asks of wants whose policies are known: in the store, or as this process counts by itself. */
  asksFor(wants: readonly Want[], isLocal: boolean): readonly PolicyAsk[] {
    return wants.reduce((asks, want) => {
      const policies = want.policies ?? want.limit.fixed ?? [];
      const own = isLocal ? policies.map((one) => this.#localFor(one)) : policies;
      return joinAsks(asks, makeAsks(want, own, true));
    }, NO_ASKS);
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
      return await ('then' in answer ? this.track(answer) : answer);
    } catch (error) {
      throw this.report(error, false);
    } finally {
      this.changed(asks);
    }
  }

  changed(asks: readonly Ask[]): void {
    this.waiting.changed(asks);
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
    const shared = [...this.#shared].map(([own, { keyName }]) => `::${keyName?.(this.context) ?? own}`);
    const owners = [`:${name}`, ...shared];
    store.forget((key) => {
      const rest = key.slice(key.indexOf('}') + 1);
      return owners.some((owner) => rest === owner || rest.startsWith(`${owner}:`));
    });
    this.waiting.changedAll();
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  checkOpen(): void {
    if (!this.isClosed) return;
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
    this.#leave?.();
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
    await Promise.all([...this.#functions.values()].map(async (close) => close?.()));
  }
}

function readFigures({ name, rule }: Counted, figures: Figures): PolicyDecision {
  const of = figures as readonly number[] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6, number>;
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
  return rule.holds ? { ...policy, unit: 'concurrent-requests' } : policy;
}

/** @throws TypeError if slots would be held without a holder, so that nothing could release them. */
function checkHolders(asks: readonly PolicyAsk[]): void {
  for (const { counted, want } of asks) {
    if (!counted.rule.holds || want.holder > 0) continue;
    const what = `the policy ${shown(counted.name)} holds slots until they are released`;
    const instead = 'use limiter.acquire(key), which returns a function that releases them, or limiter.run(key, fn)';
    throw typeError('SLUICE_ACQUIRE_NEEDED', `${what}: ${instead}; nothing was consumed`);
  }
}
