import { combine, undecided, type Decision, type DecisionSource } from './decision.ts';
import type { OnStoreError } from './core-options.ts';
import { StoreError, isFault, shown, typeError, type SluiceError } from './errors.ts';
import type { InFlight } from './in-flight.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import { isPlain, renewed, resolve, unknownSources, type AskedPart } from './managed/resolve.ts';
import { holdsSlots } from './policy.ts';
import type { Settling } from './settling.ts';
import { askAcross, liesApart } from './stores/across-subjects.ts';
import type { Sent } from './stores/batching/waiting.ts';
import { withinDeadline } from './stores/deadline.ts';
import type { DenialCache } from './stores/denial-cache.ts';
import type { Leases } from './stores/lease/leases.ts';
import { standInPart, type LocalStore } from './stores/local-store.ts';
import type { StoreGuard } from './stores/store-guard.ts';
import {
  isPending,
  type DecidingRequest,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
} from './stores/store.ts';
import { warnOnce } from './warnings.ts';

/** What deciding needs of its limiter. */
export interface DecidingGrounds {
  readonly name: string;
  readonly store: Store;
  readonly timeoutMs: number;
  /** None where the store is this process's memory, which is never late, and which nothing stands in for. */
  readonly guard: StoreGuard | undefined;
  readonly local: LocalStore | undefined;
  /** What is known of refused keys; none where asking is as cheap. */
  readonly denials: DenialCache | undefined;
  readonly leases: Leases | undefined;
  readonly taken: Settling;
  readonly inFlight: InFlight;
  /** Tells of a call that failed: see {@link LimiterCore}. */
  noteFailure(error: unknown, isDecision?: boolean): SluiceError;
}

/** What a decision needs to know beside its request. */
interface Facts {
  /** The parts as they were asked for, before their limits were looked up. */
  readonly asked: readonly AskedPart[];
  readonly mode: OnStoreError;
  /** When it is late (by `performance.now()`), where it may take more than one round trip. */
  readonly endMs?: number;
}

/** Decides over parts in one store, within a deadline, and knows what to do when the store fails. */
export class Deciding {
  readonly #grounds: DecidingGrounds;

  constructor(grounds: DecidingGrounds) {
    this.#grounds = grounds;
  }

  /** Takes the cost of every part, or (peek, or a refusal) nothing. Answers at once where the store does. */
  decide(op: 'consume' | 'peek', asked: readonly AskedPart[], mode: OnStoreError): Decision | Promise<Decision> {
    if (op === 'peek' && this.#grounds.leases !== undefined) {
      const held = this.#peekHeld(asked);
      if (held !== undefined) return held;
    }
    if (isPlain(asked)) return this.#decide({ op, parts: asked }, { asked, mode });
    const facts = { asked, mode, endMs: performance.now() + this.#grounds.timeoutMs };
    const sources = unknownSources(asked);
    if (sources.length === 0) return this.#decideManaged(op, facts);
    // Who has failed is asked by nobody but the one who follows it, twice a second: no decision waits for it.
    const failed = sources.find(({ failure }) => failure !== undefined);
    if (failed !== undefined) return this.#withoutPolicies(failed.failure, facts);
    const loads = Promise.all(sources.map((source) => source.loaded()));
    return this.#grounds.inFlight.settle(
      withinDeadline(loads, this.#grounds.timeoutMs, { abandoned: false }).then(
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
    const decision = this.#grounds.leases?.peek(part.limit, part.subject, part.cost);
    if (decision === undefined) return undefined;
    const answer = { atMs: decision.atMs, parts: [] };
    this.#grounds.taken.receipts.write(decision, {
      store: this.#grounds.store,
      asked,
      counted: [],
      answer,
      isSpent: true,
    });
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
    const failure = this.#grounds.noteFailure(error, mode === 'throw');
    if (mode === 'throw' || isFault(failure)) throw failure;
    const name = asked.find(({ limit }) => limit instanceof ManagedLimit)?.limit;
    warnOnce(
      'SLUICE_POLICIES_UNKNOWN',
      `the limiter ${this.#grounds.name} has not been able to load its managed policies yet (${failure.message}); its requests are ${mode === 'deny' ? 'refused' : 'let through'} until it has, as onStoreError says.`,
      this.#grounds.name,
    );
    return this.#undecided(
      'unavailable',
      mode !== 'deny',
      asked,
      name instanceof ManagedLimit ? name.name : this.#grounds.name,
    );
  }

  #undecided(
    outcome: 'unavailable' | 'unconfigured',
    allowed: boolean,
    asked: readonly AskedPart[],
    policy: string,
  ): Decision {
    const decision = undecided(outcome, allowed, Math.max(...asked.map(({ cost }) => cost)), policy);
    const answer = { atMs: 0, parts: [] };
    this.#grounds.taken.receipts.write(decision, {
      store: this.#grounds.store,
      asked,
      counted: [],
      answer,
      isSpent: true,
    });
    return decision;
  }

  #decide(request: DecidingRequest, facts: Facts): Decision | Promise<Decision> {
    if (request.op === 'consume') checkHolders(request.parts);
    const known = this.#grounds.denials?.refuse(request.parts);
    if (known !== undefined) return this.#decisionOf('cache', request, known, facts);
    const sent =
      this.#grounds.denials === undefined ? undefined : { sentMs: performance.now(), sentDateMs: Date.now() };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#ask(request, facts);
    } catch (error) {
      return this.withoutStore(request, error, facts);
    }
    if (!isPending(answers)) return this.#conclude(this.#grounds.store, request, answers[0], facts, sent);
    return this.#grounds.inFlight.settle(
      answers.then(
        ([answer]) => this.#conclude(this.#grounds.store, request, answer, facts, sent),
        (error: unknown) => this.withoutStore(request, error, facts),
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
    return this.#grounds.inFlight.settle(
      withinDeadline(renewed(request.parts, found), this.#leftMs(facts), { abandoned: false }).then(
        (parts) => {
          if (this.#leftMs(facts) <= 0) return this.withoutStore(request, lateError(this.#grounds.timeoutMs), facts);
          // A policy that is gone by now is looked up anew, and says so itself.
          return parts === undefined
            ? this.#decideManaged(request.op, facts)
            : this.#decide({ ...request, parts }, facts);
        },
        (error: unknown) => this.withoutStore(request, error, facts),
      ),
    );
  }

  /** What is left of the time that a decision may take. */
  #leftMs({ endMs }: Facts): number {
    return endMs === undefined ? this.#grounds.timeoutMs : Math.ceil(endMs - performance.now());
  }

  #ask(request: DecidingRequest, facts: Facts): StoreAnswers | Promise<StoreAnswers> {
    const { guard, store } = this.#grounds;
    if (guard === undefined) return store.perform([request]);
    const leftMs = Math.max(this.#leftMs(facts), 1);
    if (!liesApart(store, request.parts)) return guard.ask(request, leftMs);
    for (const { limit } of request.parts) this.#grounds.denials?.exclude(limit);
    guard.checkLet(request.parts); // before others give what they would have to take back
    return askAcross(request, {
      ask: (requests) => guard.perform(requests, leftMs),
      inBackground: (work) => void this.#grounds.inFlight.settle(work),
      noteFailure: (error) => void this.#grounds.noteFailure(error),
    });
  }

  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
    facts: Facts,
    sent?: Omit<Sent, 'receivedMs'>,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.withoutStore(request, answer, facts);
    if (answer?.stale !== undefined) return this.#decideAgain(request, answer.stale, facts);
    if (answer === undefined || !answer.parts.some(({ policies }) => policies.length > 0)) {
      const error = new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer');
      return this.withoutStore(request, error, facts);
    }
    if (answer.shown !== undefined && sent !== undefined) {
      this.#grounds.denials?.noteAll(request.parts, answer, { ...sent, receivedMs: performance.now() });
    }
    return this.#decisionOf(store.source, request, answer, facts, store);
  }

  #decisionOf(
    source: DecisionSource,
    { op, parts }: DecidingRequest,
    answer: StoreAnswer,
    { asked }: Facts,
    store: Store = this.#grounds.store,
  ): Decision {
    const policies = answer.parts.flatMap((part) => part.policies);
    const ifTaken = answer.parts.flatMap((part) => part.ifTaken ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const { atMs } = answer;
    const forgottenAfterMs = Math.max(...answer.parts.map((part) => part.forgottenAfterMs ?? 0));
    const decision = combine(policies, { cost, blocked, source, atMs, forgottenAfterMs }, ifTaken);
    this.#grounds.taken.receipts.write(decision, { store, asked, counted: parts, answer, isSpent: op === 'peek' });
    return decision;
  }

  /**
   * What is decided when the store does not.
   *
   * @throws what it failed with, where that is what `onStoreError` says.
   */
  withoutStore(request: DecidingRequest, error: unknown, facts: Facts): Decision | Promise<Decision> {
    const { parts } = request;
    const { asked, mode } = facts;
    if (request.op === 'consume') this.#grounds.taken.releaseUnseen(parts, this.#grounds.store, error);
    // The memory store itself may have failed: its clock threw, say. There is nothing to stand in for it.
    const hasNoOther = mode === 'throw' || (mode === 'local' && this.#grounds.local === undefined);
    const failure = this.#grounds.noteFailure(error, hasNoOther);
    if (hasNoOther || isFault(failure)) throw failure;
    if (mode === 'local') {
      const local = this.#grounds.local as LocalStore;
      // Policies as things stand by now: the stand-in may have counted by those.
      const standing = facts.endMs === undefined ? parts : resolve(asked).parts;
      const locally = { ...request, parts: standing.map(standInPart) };
      const [answer] = local.perform([locally]) as StoreAnswers;
      if (standing.length === asked.length && (answer instanceof Error || answer?.stale === undefined)) {
        return this.#conclude(local, locally, answer, facts);
      }
    }
    return this.#undecided(
      'unavailable',
      mode !== 'deny',
      asked,
      parts[0]?.limit.policies[0]?.name ?? this.#grounds.name,
    );
  }
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
