import { combine, undecided, type Decision } from '../engine/decision.ts';
import type { LimiterDeps } from './deps.ts';
import type { OnStoreError } from '../engine/fast.ts';
import { StoreError, isFault, shown, typeError } from '../errors.ts';
import { isSource } from '../engine/limit-source.ts';
import { areResolved, renewParts, resolve, unreadFeeds, type UnresolvedPart } from './resolve.ts';
import { holdsSlots } from '../engine/policy.ts';
import type { BehindAnswer } from '../guard/store-guard.ts';
import { timeoutError } from '../guard/deadline.ts';
import { fallbackPart } from '../stores/fallback.ts';
import {
  isPending,
  type DecidingRequest,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
} from '../engine/store.ts';
import { warnOnce } from '../warnings.ts';

/** The settings of a decision besides its request. */
export interface DecisionContext {
  /** The parts before their limits were looked up. */
  readonly requested: readonly UnresolvedPart[];
  readonly onStoreError: OnStoreError;
  /** When the decision is late, by `performance.now()`. Set where it may take more than one round trip. */
  readonly endMs?: number | undefined;
  /** Why the store did not decide, where its replacement does. */
  readonly error?: Error;
}

/** Decides over parts in one store, within a deadline: every request that the fast path leaves. */
export class DecisionPipeline {
  readonly #deps: LimiterDeps;
  readonly #behind: BehindAnswer;

  constructor(deps: LimiterDeps) {
    this.#deps = deps;
    this.#behind = {
      inBackground: (work) => void deps.inFlight.track(work),
      reportFailure: (error) => void deps.reportFailure(error),
    };
  }

  /**
   * Takes the cost of every part, or (peek, or a denial) nothing. Returns a decision at once where the store does.
   *
   * @param endMs - When the decision is late, by `performance.now()`. Default: in `timeoutMs`.
   */
  decide(
    op: 'consume' | 'peek',
    requested: readonly UnresolvedPart[],
    onStoreError: OnStoreError,
    endMs?: number,
  ): Decision | Promise<Decision> {
    if (requested.every(({ cost }) => cost === 0)) op = 'peek'; // a request without cost writes nothing
    if (areResolved(requested)) {
      return this.#decide({ op, parts: requested }, { requested, onStoreError, endMs });
    }
    const context = { requested, onStoreError, endMs: endMs ?? performance.now() + this.#deps.timeoutMs };
    const feeds = unreadFeeds(requested);
    if (feeds.length === 0) return this.#decideCurrent(op, context);
    const failed = feeds.find(({ failure }) => failure !== undefined);
    if (failed !== undefined) return this.#withoutLimits(failed.failure, context);
    const timeoutMs = Math.max(this.#leftMs(context), 1);
    return this.#deps.inFlight.track(
      Promise.all(feeds.map((feed) => feed.loaded(timeoutMs))).then(
        () => this.#decideCurrent(op, context),
        (error: unknown) => this.#withoutLimits(error, context),
      ),
    );
  }

  #decideCurrent(op: 'consume' | 'peek', context: DecisionContext): Decision | Promise<Decision> {
    const { requested, parts, missing } = resolve(context.requested);
    if (missing?.onMissing === 'deny' || (missing !== undefined && parts.length === 0)) {
      return this.#undecided('unconfigured', missing.onMissing === 'allow', context.requested, missing.name);
    }
    return this.#decide({ op, parts }, { ...context, requested });
  }

  /** No limit is known, because its feed has not answered yet. */
  #withoutLimits(error: unknown, { requested, onStoreError }: DecisionContext): Decision {
    const failure = this.#deps.reportFailure(error, onStoreError === 'throw');
    if (onStoreError === 'throw' || isFault(failure)) throw failure;
    const source = requested.map(({ limit }) => limit).find(isSource);
    warnOnce(
      'SLUICE_POLICIES_UNKNOWN',
      `the limiter ${this.#deps.name} has not been able to load its managed policies yet (${failure.message}); its requests are ${onStoreError === 'deny' ? 'denied' : 'let through'} until it has, as onStoreError says.`,
      this.#deps.name,
    );
    return this.#undecided('unavailable', onStoreError !== 'deny', requested, source?.name ?? this.#deps.name, failure);
  }

  #undecided(
    outcome: 'unavailable' | 'unconfigured',
    allowed: boolean,
    requested: readonly UnresolvedPart[],
    policy: string,
    error?: Error,
  ): Decision {
    const decision = undecided(outcome, allowed, Math.max(...requested.map(({ cost }) => cost)), policy, error);
    this.#deps.settlements.receipts.writeSpent(decision);
    return decision;
  }

  #decide(request: DecidingRequest, context: DecisionContext): Decision | Promise<Decision> {
    if (request.op === 'consume') checkHolders(request.parts);
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#ask(request, context);
    } catch (error) {
      return this.fallback(request, error, context);
    }
    if (!isPending(answers)) return this.#conclude(this.#deps.store, request, answers[0], context);
    return this.#deps.inFlight.track(
      answers.then(
        ([answer]) => this.#conclude(this.#deps.store, request, answer, context),
        (error: unknown) => this.fallback(request, error, context),
      ),
    );
  }

  /**
   * Decides again after the store found a state that another version of a policy wrote: once per change of the
   * policy, and within the time of one decision.
   */
  #decideAgain(
    request: DecidingRequest,
    found: readonly (number | undefined)[],
    context: DecisionContext,
  ): Decision | Promise<Decision> {
    return this.#deps.inFlight.track(
      renewParts(request.parts, found, this.#leftMs(context)).then(
        (parts) => {
          if (this.#leftMs(context) <= 0) return this.fallback(request, lateError(this.#deps.timeoutMs), context);
          // A deleted policy is looked up again, which leads to `onUnconfigured`.
          return parts === undefined
            ? this.#decideCurrent(request.op, context)
            : this.#decide({ ...request, parts }, context);
        },
        (error: unknown) => this.fallback(request, error, context),
      ),
    );
  }

  #ask(request: DecidingRequest, context: DecisionContext): StoreAnswers | Promise<StoreAnswers> {
    const { guard, store, fast } = this.#deps;
    if (guard === undefined) return store.perform([request]);
    const timeoutMs = this.#leftMs(context);
    if (fast?.decide !== undefined) return fast.decide(request, timeoutMs);
    if (timeoutMs <= 0) throw timeoutError(this.#deps.timeoutMs);
    return guard.perform([request], timeoutMs, this.#behind);
  }

  /** The rest of the time that a decision may take. */
  #leftMs({ endMs }: DecisionContext): number {
    return endMs === undefined ? this.#deps.timeoutMs : Math.ceil(endMs - performance.now());
  }

  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
    context: DecisionContext,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.fallback(request, answer, context);
    if (answer?.stale !== undefined) return this.#decideAgain(request, answer.stale, context);
    if (answer === undefined || !answer.parts.some(({ policies }) => policies.length > 0)) {
      const error = new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer');
      return this.fallback(request, error, context);
    }
    return this.#decisionOf(store, request, answer, context);
  }

  #decisionOf(
    store: Store,
    { op, parts }: DecidingRequest,
    answer: StoreAnswer,
    { requested, error }: DecisionContext,
  ): Decision {
    const { source = store.source } = answer;
    const policies = answer.parts.flatMap((part) => part.policies);
    const ifConsumed = answer.parts.flatMap((part) => part.ifConsumed ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const { atMs } = answer;
    const forgottenAfterMs = Math.max(...answer.parts.map((part) => part.forgottenAfterMs ?? 0));
    const decision = combine(policies, { cost, blocked, source, atMs, forgottenAfterMs }, ifConsumed);
    // Not a copy: while the breaker is open, each decision comes this way.
    if (error !== undefined) (decision as { error?: Error }).error = error;
    this.#deps.settlements.receipts.write(decision, {
      store,
      requested,
      counted: parts,
      answer,
      isSpent: op === 'peek',
    });
    return decision;
  }

  /**
   * Decides as `onStoreError` states, after the store failed or was late.
   *
   * @throws the store's error, where `onStoreError` is `throw`, or the error is a fault.
   */
  fallback(request: DecidingRequest, error: unknown, context: DecisionContext): Decision | Promise<Decision> {
    const { parts } = request;
    const { requested, onStoreError } = context;
    if (request.op === 'consume') this.#deps.settlements.releaseUnseen(parts, this.#deps.store, error);
    // A memory store has no fallback. It fails when its clock throws.
    const hasNoOther = onStoreError === 'throw' || (onStoreError === 'local' && this.#deps.fallback === undefined);
    const failure = this.#deps.reportFailure(error, hasNoOther);
    if (hasNoOther || isFault(failure)) throw failure;
    if (onStoreError === 'local') {
      const local = this.#deps.fallback as Store;
      // The policies as they are now, because the fallback may already count by newer ones.
      const current = context.endMs === undefined ? parts : resolve(requested).parts;
      const locally = { ...request, parts: current.map(fallbackPart) };
      const [answer] = local.perform([locally]) as StoreAnswers;
      if (current.length === requested.length && (answer instanceof Error || answer?.stale === undefined)) {
        return this.#conclude(local, locally, answer, { ...context, error: failure });
      }
    }
    return this.#undecided(
      'unavailable',
      onStoreError !== 'deny',
      requested,
      parts[0]?.limit.policies[0]?.name ?? this.#deps.name,
      failure,
    );
  }
}

/** @throws TypeError where the request would hold slots without a holder, so that nothing could release them. */
function checkHolders(parts: readonly Part[]): void {
  const held = parts.find(({ limit, holder }) => holder === undefined && holdsSlots(limit.policies));
  if (held === undefined) return;
  throw typeError(
    'SLUICE_ACQUIRE_NEEDED',
    `the policy ${shown(held.limit.policies.find((named) => holdsSlots([named]))?.name)} holds slots until they are released: use limiter.acquire(key), which returns a function that releases them, or limiter.run(key, fn); nothing was consumed`,
  );
}

function lateError(timeoutMs: number): StoreError {
  return new StoreError(
    'SLUICE_STORE_TIMEOUT',
    `the managed policy changed during the decision, and its new version was not loaded within ${String(timeoutMs)} ms (timeoutMs); nothing was consumed`,
  );
}
