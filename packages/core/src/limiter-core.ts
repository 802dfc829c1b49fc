import cluster from 'node:cluster';
import { parseCoreOptions, type CoreSettings, type LimiterCoreOptions, type OnStoreError } from './core-options.ts';
import { combine, unavailable, type Decision } from './decision.ts';
import { SluiceError, StoreError, asStoreError, isFault, kindOf } from './errors.ts';
import { keyScope } from './key.ts';
import { claimName, namesOn, releaseName } from './limiter-names.ts';
import { decisions, storeErrors } from './observe/channels.ts';
import { forget, remember, type Status } from './observe/live-limiters.ts';
import type { NamedPolicy } from './policy.ts';
import { Receipts, type Return } from './receipts.ts';
import { askAcross, liesApart } from './stores/across-subjects.ts';
import { localStore, standInParts, withStandIn, type LocalStore } from './stores/local-store.ts';
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
  readonly #settings: CoreSettings;
  /** None where the store is this process's memory, which is never late. */
  readonly #guard: StoreGuard | undefined;
  readonly #local: LocalStore | undefined;
  readonly #receipts = new Receipts();
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
    this.#guard = isMemory ? undefined : StoreGuard.of(store, () => namesOn(store));
    this.#local = isMemory ? undefined : localStore(store);
  }

  /** Takes the name on the store: the last step of making a limiter, when all else has been checked. */
  claim(): void {
    claimName(this.store, this.name, this.#settings.shared);
    remember(this);
    if (this.store.source === 'memory' && cluster.isWorker) {
      warnOnce(
        'SLUICE_MEMORY_IN_CLUSTER',
        `the limiter ${this.name} counts in the memory of this worker, and every worker of a cluster has its own: ` +
          'together they admit the limit times their number. Give it store: redisStore(...).',
      );
    }
  }

  /** @throws PolicyError when no `localShare` of these policies can be counted, or when the store cannot count them. */
  limitOf(policies: readonly NamedPolicy[]): Limit {
    const limit = withStandIn({ policies, scope: keyScope(this.name, policies) }, this.#settings.localShare);
    this.store.checkLimit?.(limit);
    return limit;
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
    parts: readonly Part[],
    onStoreError: OnStoreError = this.onStoreError,
  ): Decision | Promise<Decision> {
    this.#checkOpen();
    // Nothing to take is nothing to write.
    const request: DecidingRequest = { op: parts.every(({ cost }) => cost === 0) ? 'peek' : op, parts };
    if (!decisions.hasSubscribers) return this.#decide(request, onStoreError);
    const startMs = performance.now();
    const decided = this.#decide(request, onStoreError);
    return isPending(decided)
      ? decided.then((decision) => this.#tell(op, decision, startMs))
      : this.#tell(op, decided, startMs);
  }

  #tell(op: 'consume' | 'peek', decision: Decision, startMs: number): Decision {
    decisions.publish({ limiter: this.name, op, decision, durationMs: performance.now() - startMs });
    return decision;
  }

  #decide(request: DecidingRequest, onStoreError: OnStoreError): Decision | Promise<Decision> {
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#ask(request);
    } catch (error) {
      return this.#withoutStore(request, error, onStoreError);
    }
    if (!isPending(answers)) return this.#conclude(this.store, request, answers[0], onStoreError);
    return this.#settle(
      answers.then(
        ([answer]) => this.#conclude(this.store, request, answer, onStoreError),
        (error: unknown) => this.#withoutStore(request, error, onStoreError),
      ),
    );
  }

  #ask(request: DecidingRequest): StoreAnswers | Promise<StoreAnswers> {
    if (this.#guard === undefined) return this.store.perform([request]);
    if (!liesApart(this.store, request.parts)) return this.#askGuarded([request]);
    this.#guard.checkLet(request.parts); // before others give what they would have to take back
    return askAcross(request, {
      ask: (requests) => this.#askGuarded(requests),
      inBackground: (work) => void this.#settle(work),
      noteFailure: (error) => void this.#noteFailure(error),
    });
  }

  #askGuarded(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers> {
    const guard = this.#guard as StoreGuard;
    return guard.perform(requests, subjectOf(requests[0] as StoreRequest), this.#settings.timeoutMs);
  }

  /**
   * Gives back, resets, blocks or unblocks, in one call. The last three act on this process's stand-in as well, so that a
   * blocked client stays blocked while the store is away.
   */
  async edit(requests: readonly EditingRequest[], store: Store = this.store): Promise<void> {
    this.#checkOpen();
    const hereToo = requests.filter(({ op }) => op !== 'refund');
    if (hereToo.length > 0) void this.#local?.perform(hereToo); // at once, as memory does
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = store === this.store ? this.#askEdits(requests) : store.perform(requests);
      if (isPending(answers)) answers = await this.#settle(answers);
    } catch (error) {
      throw this.#noteFailure(error);
    }
    const [failed] = answers.filter((answer) => answer instanceof Error).map((error) => this.#noteFailure(error));
    if (failed !== undefined) throw failed;
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

  /** @throws (rejects) as {@link Receipts.returnOf} does; StoreError. */
  async refund(decision: Decision, cost?: number): Promise<void> {
    await this.#giveBack(this.#receipts.returnOf(decision, cost));
  }

  /** Gives back what those parts of a decision took that are chosen; as {@link refund}, once. */
  async refundParts(decision: Decision, chosen: (part: Part) => boolean): Promise<void> {
    await this.#giveBack(this.#receipts.returnOfParts(decision, chosen));
  }

  async #giveBack(what: Return | undefined): Promise<void> {
    if (what === undefined) return;
    try {
      await this.edit(what.requests, what.store);
    } catch (error) {
      const isOneCall = what.requests.length === 1 || what.store.oneSubjectPerCall !== true;
      if (isOneCall && (error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') what.undo();
      throw error;
    }
  }

  /** Settles what is in flight. Called again, it answers when the first call does. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    forget(this);
    if (!releaseName(this.store, this.name)) return;
    this.#guard?.close();
    await this.store.close?.();
  }

  /** @param asked - The parts that were asked for, where the store counted others. */
  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
    onStoreError: OnStoreError,
    asked: readonly Part[] = request.parts,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.#withoutStore(request, answer, onStoreError);
    const { parts } = request;
    const policies = answer?.parts.flatMap((part) => part.policies) ?? [];
    if (answer === undefined || policies.length === 0) {
      const error = new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer');
      return this.#withoutStore(request, error, onStoreError);
    }
    const ifTaken = answer.parts.flatMap((part) => part.ifTaken ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const decision = combine(policies, { cost, blocked, source: store.source, atMs: answer.atMs }, ifTaken);
    this.#receipts.write(decision, { store, asked, counted: parts, answer, isSpent: request.op === 'peek' });
    return decision;
  }

  #withoutStore(request: DecidingRequest, error: unknown, onStoreError: OnStoreError): Decision | Promise<Decision> {
    const { parts } = request;
    // The memory store itself may have failed: its clock threw, say. There is nothing to stand in for it.
    const hasNoOther = onStoreError === 'throw' || (onStoreError === 'local' && this.#local === undefined);
    const failure = this.#noteFailure(error, hasNoOther);
    if (hasNoOther || isFault(failure)) throw failure;
    if (onStoreError === 'local') {
      const local = this.#local as LocalStore;
      const locally = { ...request, parts: standInParts(parts) };
      const [answer] = local.perform([locally]) as StoreAnswers;
      return this.#conclude(local, locally, answer, onStoreError, parts);
    }
    const decision = unavailable(
      onStoreError === 'allow',
      Math.max(...parts.map((part) => part.cost)),
      parts[0]?.limit.policies[0]?.name ?? this.name,
    );
    const answer = { atMs: 0, parts: [] };
    this.#receipts.write(decision, { store: this.store, asked: parts, counted: parts, answer, isSpent: true });
    return decision;
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
      this.#inFlight--;
      if (this.#inFlight === 0) this.#idle?.();
    };
    work.then(left, left);
    return work;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
  }
}

function subjectOf(request: StoreRequest): string {
  return ('parts' in request ? request.parts[0] : request.part)?.subject ?? '';
}
