import { isClusterWorker } from '#platform';
import { parseCoreOptions, type CoreSettings, type LimiterCoreOptions } from './options.ts';
import { deniedForWaiting, type Decision } from '../engine/decision.ts';
import { DecisionPipeline } from './decision-pipeline.ts';
import type { LimiterDeps } from './deps.ts';
import type { Escalation } from '../values/escalate.ts';
import { SluiceError, asStoreError, kindOf, shown } from '../errors.ts';
import { LimitFactory } from './limit-factory.ts';
import { claimName, isInUse, releaseName, stayOn } from './names.ts';
import { edit, performEdits, settleKeys, settleParts, type UnresolvedEdit } from './edits.ts';
import { currentOf, type LimitRef, type LimitSource } from '../engine/limit-source.ts';
import type { UnresolvedPart } from './resolve.ts';
import { InFlight } from './in-flight.ts';
import { decisions, storeErrors } from '../channels.ts';
import { publish } from './published.ts';
import { watchThresholds } from './thresholds.ts';
import { unwatch, watchForDrop } from './dropped-limiters.ts';
import { forget, remember, type Status } from '../observe/live-limiters.ts';
import { Settlements, warnOfRefund } from './settlement/settlements.ts';
import { forgetKeys } from '../stores/memory/memory-store.ts';
import { fallbackStore, type FallbackStore } from '../stores/fallback.ts';
import { broughtGuard } from '../guard/brought-guard.ts';
import type { StoreGuard } from '../guard/store-guard.ts';
import { bringsFast, type Fast, type FastHost, type OnStoreError } from '../engine/fast.ts';
import { isPending, type Store, type StoreAnswer } from '../engine/store.ts';
import { warnOfCopies } from './copies.ts';
import { WaitQueues } from './waiting/wait-queues.ts';
import { warnOnce } from '../warnings.ts';

/**
 * The base of {@link createLimiter} and the adapters: decides over parts in one store, within a deadline, and falls
 * back as `onStoreError` states when the store fails. The ways of a decision: docs/adr/0035-ways-of-a-decision.md.
 */
export class LimiterCore {
  readonly name: string;
  readonly store: Store;
  /** How long a decision waits for the store at most. */
  readonly timeoutMs: number;
  /** Makes the limits that parts refer to. */
  readonly limits: LimitFactory;
  /** Refunds, charges, releases and renewals of earlier decisions. */
  readonly settlements: Settlements;
  /** Requests that wait until they are allowed. */
  readonly waiting: WaitQueues;
  readonly #settings: CoreSettings;
  readonly #deps: LimiterDeps;
  readonly #pipeline: DecisionPipeline;
  /** As in the deps: one look-up less for a decision. */
  readonly #fast: Fast | undefined;
  /** Whether its memory is its own, because no store was given. */
  readonly #ownsMemory: boolean;
  #leaveGuard: (() => void) | undefined;
  #stopThresholds: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const settings = parseCoreOptions(options);
    const { name, store, timeoutMs } = settings;
    const isMemory = store.source === 'memory';
    this.#ownsMemory = options.store === undefined;
    const guard = isMemory ? undefined : (broughtGuard(store) as StoreGuard);
    const inFlight = new InFlight();
    this.name = name;
    this.store = store;
    this.timeoutMs = timeoutMs;
    this.#settings = settings;
    this.limits = new LimitFactory(settings);
    this.settlements = new Settlements(
      store,
      () => {
        this.#checkOpen();
      },
      (requests, on) => inFlight.track(performEdits(requests, this.#deps, on)),
    );
    this.waiting = new WaitQueues({
      name,
      isBatched: isMemory || bringsFast(store),
      ask: (op, parts) => this.#ask(op, parts),
      publish: (decision, startMs, parts) => {
        if (decisions.hasSubscribers) void this.#publish('consume', decision, startMs, parts);
      },
      giveBack: (decision) => {
        inFlight.track(this.settlements.giveBack(decision)).catch(warnOfRefund);
      },
    });
    this.#deps = {
      name,
      store,
      timeoutMs,
      guard,
      fast: bringsFast(store) ? store.fast(this.#fastHost(settings, inFlight)) : undefined,
      fallback: isMemory ? undefined : fallbackStore(store),
      settlements: this.settlements,
      inFlight,
      changed: (subject) => {
        this.waiting.changed(subject);
      },
      reportFailure: (error, isDecision) => this.#reportFailure(error, isDecision),
    };
    this.#pipeline = new DecisionPipeline(this.#deps);
    this.#fast = this.#deps.fast;
  }

  #fastHost({ name, timeoutMs, denialCache }: CoreSettings, inFlight: InFlight): FastHost {
    const { receipts } = this.settlements;
    return {
      ...{ name, timeoutMs, denialCache, receipts, inFlight },
      fallback: (part, error, onStoreError) => {
        const parts = [part];
        return this.#pipeline.fallback({ op: 'consume', parts }, error, { requested: parts, onStoreError });
      },
      inBackground: (work) => void inFlight.track(work),
      reportFailure: (error) => void this.#reportFailure(error),
    };
  }

  /** Claims the name on the store: the last step of making a limiter, after every check. */
  claim(): void {
    claimName(this.store, this.name, this.#settings.shared);
    this.#leaveGuard = this.#deps.guard?.join(this.name, this.timeoutMs);
    this.store.connect?.();
    remember(this);
    warnOfCopies();
    const { onThreshold } = this.#settings;
    if (onThreshold !== undefined) this.#stopThresholds = watchThresholds(this, onThreshold);
    if (this.#ownsMemory) watchForDrop(this, this.name);
    this.limits.enter();
    if (this.store.source === 'memory' && isClusterWorker()) {
      warnOnce(
        'SLUICE_MEMORY_IN_CLUSTER',
        `the limiter ${this.name} counts in the memory of this worker, and every worker of a cluster has its own: ` +
          'together they allow the limit times their number. Give it store: redisStore(...).',
      );
    }
  }

  /** The option `escalate`, checked. */
  get escalation(): Escalation | undefined {
    return this.#settings.escalate;
  }

  get onStoreError(): OnStoreError {
    return this.#settings.onStoreError;
  }

  /** The state of the limiter's store, as far as this process knows. Makes no call. */
  status(): Status {
    const memory = this.#deps.fallback ?? (this.store as Partial<FallbackStore>);
    return { store: this.store.source, breaker: this.#deps.guard?.state ?? 'closed', keysInMemory: memory.size ?? 0 };
  }

  /**
   * Takes units of one key: {@link decide} without the parts, which the hot path does not make.
   *
   * @param key - The key before it was encoded as the subject, if it is known.
   * @param endMs - When the decision is late, by `performance.now()`. Default: in `timeoutMs`.
   */
  consume(
    limit: LimitRef,
    subject: string,
    cost: number,
    key: string | undefined,
    onStoreError: OnStoreError = this.#settings.onStoreError,
    endMs?: number,
  ): Decision | Promise<Decision> {
    if (this.#closing !== undefined) this.#checkOpen();
    const startMs = decisions.hasSubscribers ? performance.now() : undefined;
    const decided =
      this.#consumeFast(limit, subject, cost, onStoreError, endMs) ??
      this.#pipeline.decide('consume', [{ limit, subject, cost, key }], onStoreError, endMs);
    if (startMs === undefined) return decided;
    return this.#publish('consume', decided, startMs, [{ limit, subject, cost, key }]);
  }

  /**
   * Takes the cost of every part, or (peek, or a denial) nothing. Returns a decision at once where the store does.
   *
   * @param onStoreError - Decides when the store does not, instead of the limiter's own option.
   * @param endMs - When the decision is late, by `performance.now()`. Default: in `timeoutMs`. The store is not called
   * after that.
   */
  decide(
    op: 'consume' | 'peek',
    parts: readonly UnresolvedPart[],
    onStoreError: OnStoreError = this.#settings.onStoreError,
    endMs?: number,
  ): Decision | Promise<Decision> {
    const startMs = decisions.hasSubscribers ? performance.now() : undefined;
    const decided = this.#ask(op, parts, onStoreError, endMs);
    return startMs === undefined ? decided : this.#publish(op, decided, startMs, parts);
  }

  /** As {@link decide}, and publishes nothing. */
  #ask(
    op: 'consume' | 'peek',
    parts: readonly UnresolvedPart[],
    onStoreError: OnStoreError = this.#settings.onStoreError,
    endMs?: number,
  ): Decision | Promise<Decision> {
    if (this.#closing !== undefined) this.#checkOpen();
    const { limit, subject, cost, holder } = parts[0] as UnresolvedPart;
    const isUsual = op === 'consume' && parts.length === 1 && holder === undefined;
    const decided = isUsual ? this.#consumeFast(limit, subject, cost, onStoreError, endMs) : undefined;
    return decided ?? this.#pipeline.decide(op, parts, onStoreError, endMs);
  }

  /** Undefined where the pipeline has to decide: nothing has happened then. */
  #consumeFast(
    ref: LimitRef,
    subject: string,
    cost: number,
    onStoreError: OnStoreError,
    endMs: number | undefined,
  ): Decision | Promise<Decision> | undefined {
    const limit = 'policies' in ref ? ref : currentOf(ref, subject);
    if (limit?.fastPathEligible !== true || cost === 0) return undefined;
    return this.#fast?.consume(limit, subject, cost, onStoreError, endMs);
  }

  #publish(
    op: 'consume' | 'peek',
    decided: Decision | Promise<Decision>,
    startMs: number,
    parts: readonly UnresolvedPart[],
  ): Decision | Promise<Decision> {
    if (isPending(decided)) return decided.then((decision) => this.#publish(op, decision, startMs, parts));
    const durationMs = performance.now() - startMs;
    publish(this, parts, { limiter: this.name, op, decision: publishable(decided), durationMs });
    return decided;
  }

  /** Resets, blocks or unblocks: see {@link edit}. */
  async edit(requested: readonly UnresolvedEdit[]): Promise<void> {
    this.#checkOpen();
    await this.#deps.inFlight.track(edit(requested, this.#deps));
  }

  /**
   * Forgets all that the limiter has counted, under every policy that it has had, and what these sources have. A
   * memory store has no denial cache, no fallback and no calls in flight that could know more.
   *
   * @throws SluiceError `SLUICE_RESET_ALL_UNSUPPORTED` for any other store.
   */
  resetAll(sources: readonly LimitSource[]): void {
    this.#checkOpen();
    const owners = [`:${this.name}`, ...sources.map(({ keySuffix }) => keySuffix)];
    if (!forgetKeys(this.store, owners)) {
      throw new SluiceError(
        'SLUICE_RESET_ALL_UNSUPPORTED',
        `resetAll needs a memory store, because ${this.store.source === 'memory' ? 'this store' : `a store with the source ${shown(this.store.source)}`} cannot list the keys of the limiter ${this.name}; ` +
          'reset one key with reset(key), or give each test a store of its own (in Redis: a prefix); nothing was reset',
      );
    }
    this.waiting.changedAll();
  }

  /** Refunds or charges units of keys, each part its cost: see {@link settleKeys}. */
  async settleKeys(op: 'refund' | 'charge', requested: readonly UnresolvedPart[]): Promise<void> {
    this.#checkOpen();
    await this.#deps.inFlight.track(settleKeys(op, requested, this.#deps, this.#settings.onStoreError));
  }

  /** Settles what a decision of another process took: see {@link settleParts}. */
  async settle(requested: readonly UnresolvedEdit[]): Promise<readonly StoreAnswer[]> {
    this.#checkOpen();
    return this.#deps.inFlight.track(settleParts(requested, this.#deps));
  }

  /**
   * Turns a decision that allows after a wait into a denial, because no more requests can be held. Refunds nothing
   * by itself.
   *
   * @param startMs - When the request arrived, by `performance.now()`.
   * @param parts - Those that were decided.
   */
  denyWaiting(decision: Decision, startMs: number, parts: readonly UnresolvedPart[]): Decision {
    const denial = deniedForWaiting(decision);
    this.settlements.receipts.writeSpent(denial);
    if (decisions.hasSubscribers) void this.#publish('consume', denial, startMs, parts);
    return denial;
  }

  /** Waits for what is in flight. Later calls return the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const asked = this.waiting.close();
    this.#stopThresholds?.();
    if (asked !== undefined) await asked;
    const idle = this.#deps.inFlight.idle();
    if (idle !== undefined) await idle; // synchronous when idle, so that a close inside a breaker's listener takes effect there
    forget(this);
    unwatch(this);
    releaseName(this.store, this.name);
    this.#leaveGuard?.();
    if (!this.settlements.holdsSlots) return this.#leave();
    // Running requests release their slots when they end, which may be hours from now: close does not wait for
    // them.
    const endStay = stayOn(this.store);
    this.settlements.whenReleased(() => {
      endStay();
      this.#leave().catch((error: unknown) => void this.#reportFailure(error));
    });
  }

  async #leave(): Promise<void> {
    const isLast = !isInUse(this.store);
    if (isLast) this.#deps.guard?.close();
    const [failed] = await this.limits.leave();
    // Another limiter may have started to use the store meanwhile.
    if (isLast && !isInUse(this.store)) await this.store.close?.();
    if (failed !== undefined) throw failed;
  }

  /**
   * Publishes a failed call.
   *
   * @param isDecision - Whether a caller was rejected, although the open breaker let no call through.
   */
  #reportFailure(error: unknown, isDecision = false): SluiceError {
    const failure = asStoreError(error);
    if (storeErrors.hasSubscribers && (isDecision || failure.code !== 'SLUICE_BREAKER_OPEN')) {
      const kind = kindOf(failure);
      storeErrors.publish({ limiter: this.name, store: this.store.source, kind, code: failure.code });
    }
    return failure;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
  }
}

/** The decision without its error, whose cause can hold what the server was sent, keys included. */
function publishable(decided: Decision): Decision {
  if (decided.error === undefined) return decided;
  const decision = { ...decided };
  Reflect.deleteProperty(decision, 'error');
  return decision;
}
