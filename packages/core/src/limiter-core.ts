import cluster from 'node:cluster';
import { parseCoreOptions, type CoreSettings, type LimiterCoreOptions, type OnStoreError } from './core-options.ts';
import { combine, turnedAway, undecided, type Decision, type DecisionSource } from './decision.ts';
import type { Escalation } from './escalate.ts';
import { SluiceError, StoreError, asStoreError, isFault, kindOf, shown, typeError } from './errors.ts';
import { LimitMaker } from './limit-maker.ts';
import { claimName, isInUse, namesOn, releaseName, stayOn } from './limiter-names.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import { FastLane } from './fast-lane.ts';
import { leasesOf } from './leasing.ts';
import { edit, performEdits, type AskedEdit, type EditGrounds } from './edits.ts';
import { isPlain, renewed, resolve, unknownSources, type AskedLimit, type AskedPart } from './managed/resolve.ts';
import { decisions, storeErrors } from './observe/channels.ts';
import { forget, remember, type Status } from './observe/live-limiters.ts';
import { holdsSlots } from './policy.ts';
import { Settling } from './settling.ts';
import { withinDeadline } from './stores/deadline.ts';
import { DenialCache } from './stores/denial-cache.ts';
import type { Sent } from './stores/batching/waiting.ts';
import { askAcross, liesApart } from './stores/across-subjects.ts';
import { dropLeases, type Leases } from './stores/lease/leases.ts';
import { localStore, standInPart, type LocalStore } from './stores/local-store.ts';
import { StoreGuard } from './stores/store-guard.ts';
import {
  isPending,
  type DecidingRequest,
  type EditingRequest,
  type Limit,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
} from './stores/store.ts';
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
  readonly #lane: FastLane;
  /** What is known of refused keys; none where asking is as cheap. */
  readonly #denials: DenialCache | undefined;
  readonly #leases: Leases | undefined;
  #inFlight = 0;
  #idle: (() => void) | undefined;
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
      perform: (requests, on) => this.#settle(performEdits(requests, this.#groundsOn(on))),
    });
    this.#guard = isMemory ? undefined : StoreGuard.of(store, () => namesOn(store));
    this.#local = isMemory ? undefined : localStore(store);
    const { denialCache } = settings;
    if (store.showsRefused === true && denialCache !== undefined && this.#guard !== undefined) {
      this.#denials = new DenialCache(denialCache.maxKeys, this.#guard.raises);
    }
    this.#leases = leasesOf(settings, {
      batching: this.#guard?.batching,
      inBackground: (work) => void this.#settle(work),
      giveBack: (requests) => performEdits(requests, this.#groundsOn(store)),
      noteFailure: (error) => void this.#noteFailure(error),
    });
    this.#lane = new FastLane({
      store,
      receipts: this.taken.receipts,
      denials: this.#denials,
      batching: this.#guard?.batching,
      leases: this.#leases,
      timeoutMs: settings.timeoutMs,
      withoutStore: (limit, subject, cost, mode, error) => {
        const parts = [{ limit, subject, cost }];
        return this.#withoutStore({ op: 'consume', parts }, error, { asked: parts, mode });
      },
      entered: () => {
        this.#inFlight++;
      },
      left: () => {
        this.#leftOne();
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
    if (!decisions.hasSubscribers) return this.#decideAsked(how, asked, onStoreError);
    const startMs = performance.now();
    const decided = this.#decideAsked(how, asked, onStoreError);
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
      this.#lane.take(limit, subject, cost, mode) ?? this.#decideAsked('consume', [{ limit, subject, cost }], mode)
    );
  }

  #tell(op: 'consume' | 'peek', decision: Decision, startMs: number): Decision {
    decisions.publish({ limiter: this.name, op, decision, durationMs: performance.now() - startMs });
    return decision;
  }

  #decideAsked(op: 'consume' | 'peek', asked: readonly AskedPart[], mode: OnStoreError): Decision | Promise<Decision> {
    if (op === 'peek' && this.#leases !== undefined) {
      const held = this.#peekHeld(asked);
      if (held !== undefined) return held;
    }
    if (isPlain(asked)) return this.#decide({ op, parts: asked }, { asked, mode });
    const facts = { asked, mode, endMs: performance.now() + this.#settings.timeoutMs };
    const sources = unknownSources(asked);
    if (sources.length === 0) return this.#decideManaged(op, facts);
    // Who has failed is asked by nobody but the one who follows it, twice a second: no decision waits for it.
    const failed = sources.find(({ failure }) => failure !== undefined);
    if (failed !== undefined) return this.#withoutPolicies(failed.failure, facts);
    const loads = Promise.all(sources.map((source) => source.loaded()));
    return this.#settle(
      withinDeadline(loads, this.#settings.timeoutMs, { abandoned: false }).then(
        () => this.#decideManaged(op, facts),
        (error: unknown) => this.#withoutPolicies(error, facts),
      ),
    );
  }

  /** What a consume would be answered from what is held of its key, so that a peek says the same. */
  #peekHeld(asked: readonly AskedPart[]): Decision | undefined {
    const [part] = asked;
    if (part === undefined || asked.length > 1 || part.cost === 0 || part.limit instanceof ManagedLimit)
      return undefined;
    const decision = this.#leases?.peek(part.limit, part.subject, part.cost);
    if (decision === undefined) return undefined;
    const answer = { atMs: decision.atMs, parts: [] };
    this.taken.receipts.write(decision, { store: this.store, asked, counted: [], answer, isSpent: true });
    return decision;
  }

  #decideManaged(op: 'consume' | 'peek', facts: Facts): Decision | Promise<Decision> {
    const { asked, parts, unconfigured } = resolve(facts.asked);
    if (unconfigured?.onUnconfigured === 'deny' || (unconfigured !== undefined && parts.length === 0)) {
      return this.#undecided('unconfigured', unconfigured.onUnconfigured === 'allow', facts.asked, unconfigured.name);
    }
    return this.#decide({ op, parts }, { ...facts, asked });
  }

  /** The source of the policies has never answered: there is nothing to decide by. */
  #withoutPolicies(error: unknown, { asked, mode }: Facts): Decision {
    const failure = this.#noteFailure(error, mode === 'throw');
    if (mode === 'throw' || isFault(failure)) throw failure;
    const name = asked.find(({ limit }) => limit instanceof ManagedLimit)?.limit;
    warnOnce(
      'SLUICE_POLICIES_UNKNOWN',
      `the limiter ${this.name} has not been able to load its managed policies yet (${failure.message}); its requests are ${mode === 'deny' ? 'refused' : 'let through'} until it has, as onStoreError says.`,
      this.name,
    );
    return this.#undecided('unavailable', mode !== 'deny', asked, name instanceof ManagedLimit ? name.name : this.name);
  }

  #undecided(
    outcome: 'unavailable' | 'unconfigured',
    allowed: boolean,
    asked: readonly AskedPart[],
    policy: string,
  ): Decision {
    const decision = undecided(outcome, allowed, Math.max(...asked.map(({ cost }) => cost)), policy);
    const answer = { atMs: 0, parts: [] };
    this.taken.receipts.write(decision, { store: this.store, asked, counted: [], answer, isSpent: true });
    return decision;
  }

  #decide(request: DecidingRequest, facts: Facts): Decision | Promise<Decision> {
    if (request.op === 'consume') checkHolders(request.parts);
    const known = this.#denials?.refuse(request.parts);
    if (known !== undefined) return this.#decisionOf('cache', request, known, facts);
    const sent = this.#denials === undefined ? undefined : { sentMs: performance.now(), sentDateMs: Date.now() };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#ask(request, facts);
    } catch (error) {
      return this.#withoutStore(request, error, facts);
    }
    if (!isPending(answers)) return this.#conclude(this.store, request, answers[0], facts, sent);
    return this.#settle(
      answers.then(
        ([answer]) => this.#conclude(this.store, request, answer, facts, sent),
        (error: unknown) => this.#withoutStore(request, error, facts),
      ),
    );
  }

  /**
   * Asks again, after a state was found that another edition of a policy wrote: once for each change of it, and no longer
   * than a decision may take.
   */
  #decideAgain(
    request: DecidingRequest,
    found: readonly (number | undefined)[],
    facts: Facts,
  ): Decision | Promise<Decision> {
    return this.#settle(
      withinDeadline(renewed(request.parts, found), this.#leftMs(facts), { abandoned: false }).then(
        (parts) => {
          if (this.#leftMs(facts) <= 0) return this.#withoutStore(request, lateError(this.#settings.timeoutMs), facts);
          // A policy that is gone by now is looked up anew, and says so itself.
          return parts === undefined
            ? this.#decideManaged(request.op, facts)
            : this.#decide({ ...request, parts }, facts);
        },
        (error: unknown) => this.#withoutStore(request, error, facts),
      ),
    );
  }

  /** What is left of the time that a decision may take. */
  #leftMs({ endMs }: Facts): number {
    return endMs === undefined ? this.#settings.timeoutMs : Math.ceil(endMs - performance.now());
  }

  #ask(request: DecidingRequest, facts: Facts): StoreAnswers | Promise<StoreAnswers> {
    if (this.#guard === undefined) return this.store.perform([request]);
    const leftMs = Math.max(this.#leftMs(facts), 1);
    if (!liesApart(this.store, request.parts)) return this.#guard.ask(request, leftMs);
    for (const { limit } of request.parts) this.#denials?.exclude(limit);
    this.#guard.checkLet(request.parts); // before others give what they would have to take back
    return askAcross(request, {
      ask: (requests) => this.#askGuarded(requests, leftMs),
      inBackground: (work) => void this.#settle(work),
      noteFailure: (error) => void this.#noteFailure(error),
    });
  }

  #askGuarded(
    requests: readonly StoreRequest[],
    timeoutMs: number = this.#settings.timeoutMs,
  ): StoreAnswers | Promise<StoreAnswers> {
    const guard = this.#guard as StoreGuard;
    return guard.perform(requests, subjectOf(requests[0] as StoreRequest), timeoutMs);
  }

  /** Resets, blocks or unblocks: see {@link edit}. */
  async edit(asked: readonly AskedEdit[]): Promise<void> {
    this.#checkOpen();
    this.#dropHeld(asked);
    try {
      await this.#settle(edit(asked, { ...this.#groundsOn(this.store), local: this.#local }));
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
    if (this.#guard === undefined) return this.store.perform(requests);
    if (this.store.oneSubjectPerCall !== true) return this.#askGuarded(requests);
    return Promise.all(
      requests.map(async (request) => {
        try {
          return await this.#askGuarded([request]);
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
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
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

  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
    facts: Facts,
    sent?: Omit<Sent, 'receivedMs'>,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.#withoutStore(request, answer, facts);
    if (answer?.stale !== undefined) return this.#decideAgain(request, answer.stale, facts);
    if (answer === undefined || !answer.parts.some(({ policies }) => policies.length > 0)) {
      const error = new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer');
      return this.#withoutStore(request, error, facts);
    }
    if (answer.shown !== undefined && sent !== undefined) {
      this.#denials?.noteAll(request.parts, answer, { ...sent, receivedMs: performance.now() });
    }
    return this.#decisionOf(store.source, request, answer, facts, store);
  }

  #decisionOf(
    source: DecisionSource,
    { op, parts }: DecidingRequest,
    answer: StoreAnswer,
    { asked }: Facts,
    store: Store = this.store,
  ): Decision {
    const policies = answer.parts.flatMap((part) => part.policies);
    const ifTaken = answer.parts.flatMap((part) => part.ifTaken ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const { atMs } = answer;
    const forgottenAfterMs = Math.max(...answer.parts.map((part) => part.forgottenAfterMs ?? 0));
    const decision = combine(policies, { cost, blocked, source, atMs, forgottenAfterMs }, ifTaken);
    this.taken.receipts.write(decision, { store, asked, counted: parts, answer, isSpent: op === 'peek' });
    return decision;
  }

  #withoutStore(request: DecidingRequest, error: unknown, facts: Facts): Decision | Promise<Decision> {
    const { parts } = request;
    const { asked, mode } = facts;
    if (request.op === 'consume') this.taken.releaseUnseen(parts, this.store, error);
    // The memory store itself may have failed: its clock threw, say. There is nothing to stand in for it.
    const hasNoOther = mode === 'throw' || (mode === 'local' && this.#local === undefined);
    const failure = this.#noteFailure(error, hasNoOther);
    if (hasNoOther || isFault(failure)) throw failure;
    if (mode === 'local') {
      const local = this.#local as LocalStore;
      // Policies as things stand by now: the stand-in may have counted by those.
      const standing = facts.endMs === undefined ? parts : resolve(asked).parts;
      const locally = { ...request, parts: standing.map(standInPart) };
      const [answer] = local.perform([locally]) as StoreAnswers;
      if (standing.length === asked.length && (answer instanceof Error || answer?.stale === undefined)) {
        return this.#conclude(local, locally, answer, facts);
      }
    }
    return this.#undecided('unavailable', mode !== 'deny', asked, parts[0]?.limit.policies[0]?.name ?? this.name);
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

  /** Counts what is in flight, for close. */
  #settle<T>(work: Promise<T>): Promise<T> {
    this.#inFlight++;
    const left = (): void => {
      this.#leftOne();
    };
    work.then(left, left);
    return work;
  }

  #leftOne(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#idle?.();
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
  }
}

/** What a decision needs to know beside its request. */
interface Facts {
  /** The parts as they were asked for, before their limits were looked up. */
  readonly asked: readonly AskedPart[];
  readonly mode: OnStoreError;
  /** When it is late (by `performance.now()`), where it may take more than one round trip. */
  readonly endMs?: number;
}

/** @throws TypeError where slots would be held that nobody could release. */
function checkHolders(parts: readonly Part[]): void {
  const held = parts.find(({ limit, holder }) => holder === undefined && holdsSlots(limit.policies));
  if (held === undefined) return;
  throw typeError(
    'SLUICE_ACQUIRE_NEEDED',
    `the policy ${shown(held.limit.policies.find((named) => holdsSlots([named]))?.name)} holds slots until they are released: use limiter.acquire(key), which answers what releases them; nothing was consumed`,
  );
}

function lateError(timeoutMs: number): StoreError {
  return new StoreError(
    'SLUICE_STORE_TIMEOUT',
    `the managed policy changed while this was decided, and not all was known within ${String(timeoutMs)} ms (timeoutMs); nothing was consumed`,
  );
}

function subjectOf(request: StoreRequest): string {
  return ('parts' in request ? request.parts[0] : request.part)?.subject ?? '';
}
