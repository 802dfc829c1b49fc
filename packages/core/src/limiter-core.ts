import cluster from 'node:cluster';
import { parseCoreOptions, type CoreSettings, type LimiterCoreOptions, type OnStoreError } from './core-options.ts';
import { turnedAway, type Decision } from './decision.ts';
import { Deciding } from './deciding.ts';
import type { Escalation } from './escalate.ts';
import { SluiceError, asStoreError, kindOf } from './errors.ts';
import { LimitMaker } from './limit-maker.ts';
import { claimName, isInUse, namesOn, releaseName, stayOn } from './limiter-names.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import { FastLane } from './fast-lane.ts';
import { leasesOf } from './leasing.ts';
import { edit, performEdits, type AskedEdit, type EditGrounds } from './edits.ts';
import type { AskedLimit, AskedPart } from './managed/resolve.ts';
import { InFlight } from './in-flight.ts';
import { decisions, storeErrors } from './observe/channels.ts';
import { forget, remember, type Status } from './observe/live-limiters.ts';
import { Settling } from './settling.ts';
import { DenialCache } from './stores/denial-cache.ts';
import { raises } from './stores/raises.ts';
import { dropLeases, type Leases } from './stores/lease/leases.ts';
import { localStore, type LocalStore } from './stores/local-store.ts';
import { StoreGuard } from './stores/store-guard.ts';
import { isPending, type EditingRequest, type Limit, type Store, type StoreAnswers } from './stores/store.ts';
import { warnOnce } from './warnings.ts';

/**
 * What {@link createLimiter} and the adapters stand on: decides over parts in one store, within a deadline, and knows
 * what to do when the store fails.
 */
export class LimiterCore {
  readonly name: string;
  readonly store: Store;
  /** Makes what parts are of. */
  readonly limits: LimitMaker;
  /** What can still be done about decisions that were made. */
  readonly taken: Settling;
  readonly #settings: CoreSettings;
  /** None where the store is this process's memory, which is never late. */
  readonly #guard: StoreGuard | undefined;
  readonly #local: LocalStore | undefined;
  readonly #deciding: Deciding;
  readonly #lane: FastLane;
  readonly #leases: Leases | undefined;
  readonly #inFlight = new InFlight();
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const settings = parseCoreOptions(options);
    const { name, store } = settings;
    const isMemory = store.source === 'memory';
    this.name = name;
    this.store = store;
    this.#settings = settings;
    this.limits = new LimitMaker(settings);
    this.taken = new Settling({
      store,
      checkOpen: () => {
        this.#checkOpen();
      },
      perform: (requests, on) => this.#inFlight.settle(performEdits(requests, this.#groundsOn(on))),
    });
    this.#guard = isMemory ? undefined : StoreGuard.of(store, () => namesOn(store));
    this.#local = isMemory ? undefined : localStore(store);
    this.#leases = leasesOf(settings, {
      batching: this.#guard?.batching,
      inBackground: (work) => void this.#inFlight.settle(work),
      giveBack: (requests) => performEdits(requests, this.#groundsOn(store)),
      noteFailure: (error) => void this.#noteFailure(error),
    });
    const grounds = {
      ...{ name, store, timeoutMs: settings.timeoutMs, guard: this.#guard, local: this.#local },
      ...{ leases: this.#leases, taken: this.taken, inFlight: this.#inFlight },
      denials: denialsOf(settings, this.#guard),
      noteFailure: (error: unknown, isDecision?: boolean) => this.#noteFailure(error, isDecision),
    };
    this.#deciding = new Deciding(grounds);
    this.#lane = new FastLane({
      ...grounds,
      receipts: this.taken.receipts,
      batching: this.#guard?.batching,
      withoutStore: (limit, subject, cost, mode, error) => {
        const parts = [{ limit, subject, cost }];
        return this.#deciding.withoutStore({ op: 'consume', parts }, error, { asked: parts, mode });
      },
    });
  }

  /** Takes the name on the store: the last step of making a limiter, when all else has been checked. */
  claim(): void {
    claimName(this.store, this.name, this.#settings.shared);
    remember(this);
    this.limits.enter();
    if (this.store.source === 'memory' && cluster.isWorker) {
      warnOnce(
        'SLUICE_MEMORY_IN_CLUSTER',
        `the limiter ${this.name} counts in the memory of this worker, and every worker of a cluster has its own: ` +
          'together they admit the limit times their number. Give it store: redisStore(...).',
      );
    }
  }

  /** What repeated refusals lead to. */
  get escalation(): Escalation | undefined {
    return this.#settings.escalation;
  }

  get onStoreError(): OnStoreError {
    return this.#settings.onStoreError;
  }

  /** How the limiter's store is, as far as this process knows. Asks nobody. */
  status(): Status {
    const memory = this.#local ?? (this.store as Partial<LocalStore>);
    return { store: this.store.source, breaker: this.#guard?.state ?? 'closed', keysInMemory: memory.size ?? 0 };
  }

  /**
   * Takes the cost of every part, or (peek, or a refusal) nothing. Answers at once where the store does.
   *
   * @param onStoreError - What decides when the store does not, where that is not what this limiter says.
   */
  decide(
    op: 'consume' | 'peek',
    asked: readonly AskedPart[],
    onStoreError: OnStoreError = this.onStoreError,
  ): Decision | Promise<Decision> {
    this.#checkOpen();
    // Nothing to take is nothing to write.
    const how = asked.every(({ cost }) => cost === 0) ? 'peek' : op;
    if (!decisions.hasSubscribers) return this.#deciding.decide(how, asked, onStoreError);
    const startMs = performance.now();
    const decided = this.#deciding.decide(how, asked, onStoreError);
    return isPending(decided)
      ? decided.then((decision) => this.#tell(op, decision, startMs))
      : this.#tell(op, decided, startMs);
  }

  /**
   * Takes units of one key: `decide('consume', [{ limit, subject, cost }])`, by the shortest way there is.
   *
   * @param cost - At least 1.
   */
  take(
    limit: AskedLimit,
    subject: string,
    cost: number,
    onStoreError: OnStoreError = this.#settings.onStoreError,
  ): Decision | Promise<Decision> {
    if (!limit.plain || this.#closing !== undefined) {
      return this.decide('consume', [{ limit, subject, cost }], onStoreError);
    }
    if (!decisions.hasSubscribers) return this.#take(limit, subject, cost, onStoreError);
    const startMs = performance.now();
    const decided = this.#take(limit, subject, cost, onStoreError);
    return isPending(decided)
      ? decided.then((decision) => this.#tell('consume', decision, startMs))
      : this.#tell('consume', decided, startMs);
  }

  #take(limit: Limit, subject: string, cost: number, mode: OnStoreError): Decision | Promise<Decision> {
    return (
      this.#lane.take(limit, subject, cost, mode) ?? this.#deciding.decide('consume', [{ limit, subject, cost }], mode)
    );
  }

  #tell(op: 'consume' | 'peek', decision: Decision, startMs: number): Decision {
    decisions.publish({ limiter: this.name, op, decision, durationMs: performance.now() - startMs });
    return decision;
  }

  /** Resets, blocks or unblocks: see {@link edit}. */
  async edit(asked: readonly AskedEdit[]): Promise<void> {
    this.#checkOpen();
    this.#dropHeld(asked);
    try {
      await this.#inFlight.settle(edit(asked, { ...this.#groundsOn(this.store), local: this.#local }));
    } finally {
      this.#dropHeld(asked); // what was asked for meanwhile may have been taken before
    }
  }

  /** Everything that this process holds of keys that are reset, blocked or unblocked is void. */
  #dropHeld(asked: readonly AskedEdit[]): void {
    for (const { part } of asked) {
      if (!(part.limit instanceof ManagedLimit)) dropLeases(this.store, part.subject, part.limit.scope);
    }
  }

  #groundsOn(store: Store): Omit<EditGrounds, 'local'> {
    return {
      timeoutMs: this.#settings.timeoutMs,
      ask: (requests) => (store === this.store ? this.#askEdits(requests) : store.perform(requests)),
      note: (error) => this.#noteFailure(error),
    };
  }

  #askEdits(requests: readonly EditingRequest[]): StoreAnswers | Promise<StoreAnswers> {
    const guard = this.#guard;
    const { timeoutMs } = this.#settings;
    if (guard === undefined) return this.store.perform(requests);
    if (this.store.oneSubjectPerCall !== true) return guard.perform(requests, timeoutMs);
    return Promise.all(
      requests.map(async (request) => {
        try {
          return await guard.perform([request], timeoutMs);
        } catch (error) {
          return [asStoreError(error)];
        }
      }),
    ).then((answers) => answers.flat());
  }

  /**
   * Refuses a request that would have to wait, because no more can be made to. Gives nothing back by itself.
   *
   * @param startMs - When it was asked for, by `performance.now()`.
   */
  turnAway(decision: Decision, startMs: number): Decision {
    const refusal = turnedAway(decision);
    const answer = { atMs: refusal.atMs, parts: [] };
    this.taken.receipts.write(refusal, { store: this.store, asked: [], counted: [], answer, isSpent: true });
    return decisions.hasSubscribers ? this.#tell('consume', refusal, startMs) : refusal;
  }

  /** Settles what is in flight. Called again, it answers when the first call does. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#leases?.close();
    const idle = this.#inFlight.idle();
    if (idle !== undefined) await idle; // at once where nothing is: whoever closes inside a breaker's change means now
    forget(this);
    releaseName(this.store, this.name);
    if (!this.taken.holdsSlots) return this.#leave();
    // Requests that run release what they hold when they end, which may be hours from now: nobody waits for that.
    const endStay = stayOn(this.store);
    this.taken.whenReleased(() => {
      endStay();
      this.#leave().catch((error: unknown) => void this.#noteFailure(error));
    });
  }

  async #leave(): Promise<void> {
    const isLast = !isInUse(this.store);
    if (isLast) this.#guard?.close();
    const [failed] = await this.limits.leave();
    // Somebody may have begun to use it meanwhile.
    if (isLast && !isInUse(this.store)) await this.store.close?.();
    if (failed !== undefined) throw failed;
  }

  /**
   * Tells of a call that failed.
   *
   * @param isDecision - Where no call was made, because the breaker is open, whether somebody was rejected for it all the
   * same.
   */
  #noteFailure(error: unknown, isDecision = false): SluiceError {
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

/** What is known of refused keys; none where asking is as cheap. */
function denialsOf({ store, denialCache }: CoreSettings, guard: StoreGuard | undefined): DenialCache | undefined {
  if (store.showsRefused !== true || denialCache === undefined || guard === undefined) return undefined;
  return new DenialCache(denialCache.maxKeys, raises);
}
