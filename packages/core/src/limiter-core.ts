import cluster from 'node:cluster';
import { parseCoreOptions, type CoreSettings, type LimiterCoreOptions, type OnStoreError } from './core-options.ts';
import { combine, undecided, type Decision } from './decision.ts';
import { PolicyError, SluiceError, StoreError, asStoreError, isFault, kindOf, shown } from './errors.ts';
import { keyScope } from './key.ts';
import { claimName, namesOn, releaseName } from './limiter-names.ts';
import { definitionsFor } from './managed/policies.ts';
import type { Definitions } from './managed/definitions.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import type { ManagedReference } from './managed/managed.ts';
import { isPlain, renewed, resolve, unknownSources, type AskedPart } from './managed/resolve.ts';
import { decisions, storeErrors } from './observe/channels.ts';
import { forget, remember, type Status } from './observe/live-limiters.ts';
import type { NamedPolicy } from './policy.ts';
import { Receipts, type Return } from './receipts.ts';
import { withinDeadline } from './stores/deadline.ts';
import { askAcross, liesApart } from './stores/across-subjects.ts';
import { localStore, standInPart, withStandIn, type LocalStore } from './stores/local-store.ts';
import { StoreGuard } from './stores/store-guard.ts';
import {
  isPending,
  type DecidingRequest,
  type EditingRequest,
  type Limit,
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
  /** What its managed policies are looked up in. */
  readonly #definitions = new Set<Definitions>();
  #isClaimed = false;
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
    this.#isClaimed = true;
    for (const definitions of this.#definitions) definitions.enter();
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

  /**
   * A limit that is looked up whenever it is asked for.
   *
   * @param name - What decisions call its policy. Default: what its source does.
   * @throws PolicyError where there is no `app`, or nowhere to look.
   */
  managedLimitOf(reference: ManagedReference, name: string = reference.name): ManagedLimit {
    const { app, policies, onUnconfigured, localShare } = this.#settings;
    if (app === undefined) {
      throw new PolicyError(
        'app',
        `a managed policy is for the applications on its list: say which one this is, such as app: "checkout", beside managed(${shown(reference.name)})`,
        'SLUICE_OPTION_INVALID',
      );
    }
    const definitions = definitionsFor(policies, this.store);
    if (!this.#definitions.has(definitions)) {
      this.#definitions.add(definitions);
      if (this.#isClaimed) definitions.enter();
    }
    const check = (limit: Limit): void => this.store.checkLimit?.(limit);
    return new ManagedLimit({ policy: reference.name, name, app, definitions, onUnconfigured, localShare, check });
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

  #tell(op: 'consume' | 'peek', decision: Decision, startMs: number): Decision {
    decisions.publish({ limiter: this.name, op, decision, durationMs: performance.now() - startMs });
    return decision;
  }

  #decideAsked(op: 'consume' | 'peek', asked: readonly AskedPart[], mode: OnStoreError): Decision | Promise<Decision> {
    if (isPlain(asked)) return this.#decide({ op, parts: asked }, { asked, mode });
    const sources = unknownSources(asked);
    if (sources.length === 0) return this.#decideManaged(op, asked, mode);
    const { timeoutMs } = this.#settings;
    const loads = Promise.all(sources.map((source) => source.load()));
    return this.#settle(
      withinDeadline(loads, timeoutMs, { abandoned: false }).then(
        () => this.#decideManaged(op, asked, mode),
        (error: unknown) => this.#withoutPolicies(asked, error, mode),
      ),
    );
  }

  #decideManaged(
    op: 'consume' | 'peek',
    given: readonly AskedPart[],
    mode: OnStoreError,
  ): Decision | Promise<Decision> {
    const { asked, parts, unconfigured } = resolve(given);
    if (unconfigured?.onUnconfigured === 'deny' || (unconfigured !== undefined && parts.length === 0)) {
      return this.#undecided('unconfigured', unconfigured.onUnconfigured === 'allow', given, unconfigured.name);
    }
    return this.#decide({ op, parts }, { asked, mode });
  }

  /** The source of the policies has never answered: there is nothing to decide by. */
  #withoutPolicies(asked: readonly AskedPart[], error: unknown, mode: OnStoreError): Decision {
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
    this.#receipts.write(decision, { store: this.store, asked, counted: [], answer, isSpent: true });
    return decision;
  }

  #decide(request: DecidingRequest, facts: Facts): Decision | Promise<Decision> {
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#ask(request);
    } catch (error) {
      return this.#withoutStore(request, error, facts);
    }
    if (!isPending(answers)) return this.#conclude(this.store, request, answers[0], facts);
    return this.#settle(
      answers.then(
        ([answer]) => this.#conclude(this.store, request, answer, facts),
        (error: unknown) => this.#withoutStore(request, error, facts),
      ),
    );
  }

  /** Asks once more, after a state was found that another edition of a policy wrote: once for each change. */
  #decideAgain(
    request: DecidingRequest,
    found: readonly (number | undefined)[],
    facts: Facts,
  ): Decision | Promise<Decision> {
    if (facts.isAgain === true) {
      return this.#withoutStore(request, staleError(), facts);
    }
    const { op, parts } = request;
    return this.#settle(
      withinDeadline(renewed(parts, found), this.#settings.timeoutMs, { abandoned: false }).then(
        (again) =>
          // A policy that is gone by now is looked up anew, and says so itself.
          again === undefined
            ? this.#decideManaged(op, facts.asked, facts.mode)
            : this.#decide({ ...request, parts: again }, { ...facts, isAgain: true }),
        (error: unknown) => this.#withoutStore(request, error, facts),
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
  async edit(asked: readonly AskedEdit[]): Promise<void> {
    this.#checkOpen();
    const requests = asked.every(isPlainEdit) ? asked : await this.#lookUp(asked);
    if (this.#local !== undefined) {
      const hereToo = requests.map((request) => ({ ...request, part: standInPart(request.part) }));
      void this.#local.perform(hereToo); // at once, as memory does
    }
    await this.#edit(requests, this.store);
  }

  /** The edits, with the limits as things stand. */
  async #lookUp(asked: readonly AskedEdit[]): Promise<readonly EditingRequest[]> {
    const parts = asked.map(({ part }) => part);
    const loads = Promise.all(unknownSources(parts).map((source) => source.load()));
    try {
      await this.#settle(withinDeadline(loads, this.#settings.timeoutMs, { abandoned: false }));
    } catch (error) {
      throw this.#noteFailure(error);
    }
    return asked.map((request): EditingRequest => {
      const { parts: found, unconfigured } = resolve([request.part]);
      const [part] = found;
      if (part !== undefined) return { ...request, part };
      throw new SluiceError(
        'SLUICE_POLICY_UNCONFIGURED',
        `the managed policy ${shown(unconfigured?.name)} is not there, or not for this application: nothing was done`,
      );
    });
  }

  async #edit(requests: readonly EditingRequest[], store: Store, isAgain = false): Promise<void> {
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = store === this.store ? this.#askEdits(requests) : store.perform(requests);
      if (isPending(answers)) answers = await this.#settle(answers);
    } catch (error) {
      throw this.#noteFailure(error);
    }
    const [failed] = answers.filter((answer) => answer instanceof Error).map((error) => this.#noteFailure(error));
    if (failed !== undefined) throw failed;
    const found = (answers as readonly StoreAnswer[]).map(({ stale }) => stale);
    const stale = requests.filter((_, i) => found[i] !== undefined);
    if (stale.length === 0) return;
    if (isAgain) throw this.#noteFailure(staleError());
    await this.#edit(
      await this.#renewEdits(
        stale,
        found.filter((versions) => versions !== undefined),
      ),
      store,
      true,
    );
  }

  /** The edits again, of limits as the states that were found call for. What has no policy any more has nothing to edit. */
  async #renewEdits(
    requests: readonly EditingRequest[],
    found: readonly (readonly (number | undefined)[])[],
  ): Promise<readonly EditingRequest[]> {
    const renewing = requests.map(async (request, i) => {
      const parts = await renewed([request.part], found[i] ?? []);
      return parts?.map((part): EditingRequest => ({ ...request, part })) ?? [];
    });
    try {
      const again = withinDeadline(Promise.all(renewing), this.#settings.timeoutMs, { abandoned: false });
      return (await this.#settle(again)).flat();
    } catch (error) {
      throw this.#noteFailure(error);
    }
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
  async refundParts(decision: Decision, chosen: (part: AskedPart) => boolean): Promise<void> {
    await this.#giveBack(this.#receipts.returnOfParts(decision, chosen));
  }

  async #giveBack(what: Return | undefined): Promise<void> {
    if (what === undefined) return;
    try {
      this.#checkOpen();
      await this.#edit(what.requests, what.store);
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
    const isLast = releaseName(this.store, this.name);
    if (isLast) this.#guard?.close();
    await Promise.all([...this.#definitions].map((definitions) => definitions.leave()));
    if (isLast) await this.store.close?.();
  }

  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
    facts: Facts,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.#withoutStore(request, answer, facts);
    if (answer?.stale !== undefined) return this.#decideAgain(request, answer.stale, facts);
    const { parts } = request;
    const policies = answer?.parts.flatMap((part) => part.policies) ?? [];
    if (answer === undefined || policies.length === 0) {
      const error = new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer');
      return this.#withoutStore(request, error, facts);
    }
    const ifTaken = answer.parts.flatMap((part) => part.ifTaken ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const decision = combine(policies, { cost, blocked, source: store.source, atMs: answer.atMs }, ifTaken);
    const { asked } = facts;
    this.#receipts.write(decision, { store, asked, counted: parts, answer, isSpent: request.op === 'peek' });
    return decision;
  }

  #withoutStore(request: DecidingRequest, error: unknown, facts: Facts): Decision | Promise<Decision> {
    const { parts } = request;
    const { asked, mode } = facts;
    // The memory store itself may have failed: its clock threw, say. There is nothing to stand in for it.
    const hasNoOther = mode === 'throw' || (mode === 'local' && this.#local === undefined);
    const failure = this.#noteFailure(error, hasNoOther);
    if (hasNoOther || isFault(failure)) throw failure;
    if (mode === 'local') {
      const local = this.#local as LocalStore;
      const locally = { ...request, parts: parts.map(standInPart) };
      const [answer] = local.perform([locally]) as StoreAnswers;
      if (answer instanceof Error || answer?.stale === undefined) return this.#conclude(local, locally, answer, facts);
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

/** What a decision needs to know beside its request. */
interface Facts {
  /** The parts as they were asked for, before their limits were looked up. */
  readonly asked: readonly AskedPart[];
  readonly mode: OnStoreError;
  /** Whether it is asked for the second time, because the first time a policy was stale. */
  readonly isAgain?: boolean;
}

/** An edit, before the limit is looked up. */
export type AskedEdit = EditingRequest extends infer Edit
  ? Edit extends EditingRequest
    ? Omit<Edit, 'part'> & { readonly part: AskedPart }
    : never
  : never;

function isPlainEdit(edit: AskedEdit): edit is EditingRequest {
  return isPlain([edit.part]);
}

function staleError(): StoreError {
  return new StoreError(
    'SLUICE_POLICY_STALE',
    'the states of this key were written under a version of its managed policy that its source does not tell of',
  );
}

function subjectOf(request: StoreRequest): string {
  return ('parts' in request ? request.parts[0] : request.part)?.subject ?? '';
}
