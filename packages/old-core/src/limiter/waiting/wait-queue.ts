import type { Decision } from '../../engine/decision.ts';
import { isPending } from '../../engine/store.ts';
import { SluiceError } from '../../errors.ts';
import { mayPace } from '../../engine/limit-source.ts';
import { countsDenialsNow, type UnresolvedPart } from '../resolve.ts';
import { schedule } from '../../platform/schedule.ts';
import { withNewHolders } from '../settlement/holder.ts';
import type { WaitSettings } from './options.ts';

/** The functions of a limiter that its queue calls. */
export interface WaitPort {
  readonly name: string;
  /** Whether requests that are asked for together cost no more than one: in memory, or one call. */
  readonly isBatched: boolean;
  /** Decides, and publishes nothing. */
  ask(op: 'consume' | 'peek', parts: readonly UnresolvedPart[]): Decision | Promise<Decision>;
  /** Publishes the decision that ended a wait. */
  publish(decision: Decision, startMs: number, parts: readonly UnresolvedPart[]): void;
  /** Gives back what a decision took for a request that has left. */
  giveBack(decision: Decision): void;
}

/** The longest time until slots that another process has released are seen. */
const SLOTS_POLL_MS = 200;
/** Pauses after a store that has not decided: from the first to the last, doubled each time. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** The most requests that are asked for in one call. */
const MOST_ASKED = 256;

/** A request that waits. */
interface Waiter {
  parts: readonly UnresolvedPart[];
  readonly cost: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
  /** Whether the store is being asked about it. */
  isAsked: boolean;
  hasEnded: boolean;
  /** Set while it is allowed, and waits for the `delayMs` of its decision. */
  delayed: Decision | undefined;
  /** Ends its timers, and the listener of its signal. */
  stop: () => void;
}

/** The error of an attempt, where there is no decision. */
class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

type Outcome = Decision | Failure;

/**
 * The requests of one limiter that wait for the same key, in order of arrival. One call decides for as many of them as
 * may fit; after a denial none is made before the denied request may be allowed, or units have come back.
 *
 * No request overtakes another one. A call therefore asks for the first ones in line: for those that fit by what the
 * last decision has left, and for some more if none of them costs less than one before it. Of these, a denial of the
 * first implies a denial of the rest.
 */
export class WaitQueue {
  readonly #port: WaitPort;
  readonly #emptied: () => void;
  readonly #waiters = new Set<Waiter>();
  /** Allowed requests that wait for the `delayMs` of their decisions. */
  readonly #delayed = new Set<Waiter>();
  #isAsking = false;
  /** Resolves when the answer of the last call is dealt with. */
  #answered: Promise<void> | undefined;
  /** Whether units may have come back since the store was last asked. */
  #hasChanged = false;
  /** The units that the last decision left. */
  #remaining = 0;
  /** How many requests the last call has allowed. */
  #served = 0;
  #undecided = 0;
  #cancelRetry: (() => void) | undefined;

  /** @param emptied - Called when nothing waits any more. */
  constructor(port: WaitPort, emptied: () => void) {
    this.#port = port;
    this.#emptied = emptied;
  }

  /** Adds a request, which is decided in its turn. */
  add(parts: readonly UnresolvedPart[], { cost, signal, maxWaitMs, maxWaiters }: WaitSettings): Promise<Decision> {
    if (this.#waiters.size >= maxWaiters) {
      return Promise.reject(
        new SluiceError(
          'SLUICE_WAIT_FULL',
          `as many requests wait for this key of the limiter ${this.#port.name} as maxWaiters allows, ${String(maxWaiters)}; nothing was consumed`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const startMs = performance.now();
      const endMs = startMs + maxWaitMs;
      const waiter: Waiter = {
        ...{ parts, cost, startMs, endMs, resolve, reject },
        ...{ isAsked: false, hasEnded: false, delayed: undefined, stop: () => undefined },
      };
      this.#waiters.add(waiter);
      // One that the store is being asked about gets that answer first.
      const timedOut = (): void => {
        if (!waiter.isAsked) this.#leave(waiter, timeoutError(this.#port.name, waiter));
      };
      let cancelTimeout: (() => void) | undefined;
      if (maxWaitMs === 0) queueMicrotask(timedOut);
      else if (maxWaitMs < Infinity) cancelTimeout = schedule(endMs, timedOut);
      if (waiter.hasEnded) return;
      const abort = (): void => {
        this.#leave(waiter, signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      waiter.stop = () => {
        cancelTimeout?.();
        signal?.removeEventListener('abort', abort);
      };
      this.#ask();
    });
  }

  /** Asks again at once: units may have come back. */
  changed(): void {
    this.#hasChanged = true;
    this.#ask();
  }

  /**
   * Rejects all requests.
   *
   * @returns Where the store is being asked: resolves when what it allows has been given back.
   */
  close(error: Error): Promise<void> | undefined {
    const all = [...this.#waiters, ...this.#delayed];
    this.#waiters.clear(); // so that none is asked about when one in front of it has left
    for (const waiter of all) this.#leave(waiter, error);
    return this.#isAsking ? this.#answered : undefined;
  }

  /** Asks the store until the first request is denied, or none waits. */
  #ask(): void {
    if (this.#isAsking || (this.#cancelRetry !== undefined && !this.#hasChanged)) return;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#isAsking = true;
    let isFree = true;
    while (isFree && this.#waiters.size > 0) {
      this.#hasChanged = false;
      const asked = this.#nextAsked();
      const outcomes = this.#attempt(asked);
      if (isPending(outcomes)) {
        this.#answered = outcomes.then((settled) => {
          const isStillFree = this.#settle(asked, settled);
          this.#isAsking = false;
          if (isStillFree) this.#ask();
          this.#endIfEmpty();
        });
        return;
      }
      isFree = this.#settle(asked, outcomes);
    }
    this.#isAsking = false;
    this.#endIfEmpty();
  }

  /** The first requests in line, as many as one call may decide. */
  #nextAsked(): Waiter[] {
    const asked: Waiter[] = [];
    let beyond = this.#port.isBatched ? 2 * this.#served + 1 : 0;
    let sum = 0;
    let highest = 0;
    for (const waiter of this.#waiters) {
      sum += waiter.cost;
      const mayNotFit = asked.length > 0 && sum > this.#remaining;
      if (mayNotFit && (beyond-- === 0 || waiter.cost < highest)) break;
      highest = Math.max(highest, waiter.cost);
      asked.push(waiter);
      if (asked.length === MOST_ASKED || this.#isCounted(waiter) || this.#isAlone(waiter)) break;
    }
    return asked;
  }

  /** Whether no other request is asked about at the same time: calls that overtake each other would swap the delays. */
  #isAlone({ parts }: Waiter): boolean {
    return !this.#port.isBatched && parts.some(({ limit }) => mayPace(limit));
  }

  /** Whether a denial would count against the key: then the store is asked without taking anything first. */
  #isCounted({ parts }: Waiter): boolean {
    return parts.some(({ limit }) => countsDenialsNow(limit));
  }

  /** The outcomes of the first requests: of a store that decides at once, up to the first denial. */
  #attempt(asked: readonly Waiter[]): (Outcome | undefined)[] | Promise<Outcome[]> {
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const waiter of asked) {
      waiter.isAsked = true;
      const outcome = this.#isCounted(waiter) ? this.#peekFirst(waiter) : this.#outcome('consume', waiter);
      outcomes.push(outcome);
      if (isDenial(outcome)) break;
    }
    if (!outcomes.some(isPending)) return outcomes as Outcome[];
    return Promise.all(outcomes as Promise<Outcome>[]);
  }

  #outcome(op: 'consume' | 'peek', { parts }: Waiter): Outcome | Promise<Outcome> {
    try {
      const decided = this.#port.ask(op, parts);
      return isPending(decided) ? decided.catch((error: unknown) => new Failure(error)) : decided;
    } catch (error) {
      return new Failure(error);
    }
  }

  #peekFirst(waiter: Waiter): Outcome | Promise<Outcome> {
    const peeked = this.#outcome('peek', waiter);
    if (isPending(peeked)) return peeked.then((outcome) => this.#consumeAfter(outcome, waiter));
    return this.#consumeAfter(peeked, waiter);
  }

  #consumeAfter(peeked: Outcome, waiter: Waiter): Outcome | Promise<Outcome> {
    const isUseless = peeked instanceof Failure || !peeked.allowed || waiter.hasEnded;
    return isUseless ? peeked : this.#outcome('consume', waiter);
  }

  /**
   * Serves the requests that are allowed, and rejects those that failed or can never be allowed.
   *
   * @returns Whether to ask again at once; if not, the next time is scheduled.
   */
  #settle(asked: readonly Waiter[], outcomes: readonly (Outcome | undefined)[]): boolean {
    let denied: Decision | undefined;
    this.#served = 0;
    for (const [i, waiter] of asked.entries()) {
      const outcome = outcomes[i];
      waiter.isAsked = false;
      if (outcome === undefined) continue;
      if (outcome instanceof Failure) {
        this.#leave(waiter, outcome.error);
      } else if (outcome.allowed) {
        this.#remaining = outcome.remaining;
        // A request that was denied before it stays in front, and may fit without what this one took.
        if (waiter.hasEnded || denied !== undefined) {
          this.#port.giveBack(outcome);
          waiter.parts = withNewHolders(waiter.parts); // a late release frees no slot that it takes later
        } else this.#serve(waiter, outcome);
      } else {
        const stillDenied = this.#deny(waiter, outcome);
        denied ??= stillDenied;
      }
    }
    return denied === undefined || this.#hasChanged || !this.#scheduleRetry(denied);
  }

  /** @returns The denial, where the request goes on waiting. */
  #deny(waiter: Waiter, denial: Decision): Decision | undefined {
    if (waiter.hasEnded) return undefined;
    const neverFits = denial.outcome === 'denied' && denial.retryAfterMs === null;
    if (!neverFits && performance.now() < waiter.endMs) {
      this.#remaining = denial.remaining;
      return denial;
    }
    if (neverFits) {
      this.#port.publish(denial, waiter.startMs, waiter.parts);
      this.#leave(waiter, neverFitsError(this.#port.name, denial));
    } else {
      this.#leave(waiter, timeoutError(this.#port.name, waiter));
    }
    return undefined;
  }

  #serve(waiter: Waiter, decision: Decision): void {
    this.#served++;
    this.#undecided = 0;
    const dueMs = performance.now() + decision.delayMs;
    if (decision.delayMs > 0 && dueMs > waiter.endMs) {
      this.#port.giveBack(decision);
      this.#leave(waiter, timeoutError(this.#port.name, waiter));
      return;
    }
    this.#waiters.delete(waiter);
    this.#port.publish(decision, waiter.startMs, waiter.parts);
    const finish = (): void => {
      this.#end(waiter);
      waiter.resolve(decision);
    };
    if (decision.delayMs === 0) {
      finish();
      return;
    }
    waiter.delayed = decision;
    this.#delayed.add(waiter);
    const { stop } = waiter;
    const cancel = schedule(dueMs, () => {
      finish();
      this.#endIfEmpty();
    });
    waiter.stop = () => {
      stop();
      cancel();
    };
  }

  /** @returns False where the next time has come already. */
  #scheduleRetry({ outcome, retryAfterMs, policies }: Decision): boolean {
    let waitMs: number;
    if (outcome === 'unavailable' || outcome === 'unconfigured') {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#undecided++, LONGEST_PAUSE_MS);
      waitMs = pauseMs * (0.5 + Math.random() / 2); // so that not all processes come back at once
    } else {
      waitMs = retryAfterMs ?? SLOTS_POLL_MS;
      const canComeEarlier = policies.some(({ unit, isResetKnown }) => unit !== undefined || isResetKnown === false);
      if (canComeEarlier) waitMs = Math.min(waitMs, SLOTS_POLL_MS);
    }
    const retry = { hasCome: false };
    const cancel = schedule(performance.now() + waitMs, () => {
      retry.hasCome = true;
      this.#cancelRetry = undefined;
      this.#ask();
    });
    if (!retry.hasCome) this.#cancelRetry = cancel;
    return !retry.hasCome;
  }

  /** Rejects a request that has not ended, and gives back what it had. */
  #leave(waiter: Waiter, error: unknown): void {
    if (waiter.hasEnded) return;
    const [first] = this.#waiters;
    this.#end(waiter);
    waiter.reject(error);
    if (waiter.delayed !== undefined) this.#port.giveBack(waiter.delayed);
    const [next] = this.#waiters;
    // The next one may fit already, if it costs less than what was waited for.
    if (waiter === first && next !== undefined && next.cost < waiter.cost) this.changed();
    else this.#endIfEmpty();
  }

  #end(waiter: Waiter): void {
    waiter.hasEnded = true;
    this.#waiters.delete(waiter);
    this.#delayed.delete(waiter);
    waiter.stop();
  }

  #endIfEmpty(): void {
    if (this.#waiters.size > 0) return;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    if (!this.#isAsking && this.#delayed.size === 0) this.#emptied();
  }
}

function isDenial(outcome: Outcome | Promise<Outcome>): boolean {
  return !isPending(outcome) && !(outcome instanceof Failure) && !outcome.allowed;
}

function neverFitsError(name: string, { cost, policy, limit }: Decision): SluiceError {
  return new SluiceError(
    'SLUICE_NEVER_FITS',
    `a cost of ${String(cost)} never fits the policy ${policy} of the limiter ${name}, whose limit is ${String(limit)}; ask for less at once, or raise the limit; nothing was consumed`,
  );
}

function timeoutError(name: string, { startMs, endMs }: Waiter): SluiceError {
  return new SluiceError(
    'SLUICE_WAIT_TIMEOUT',
    `the limiter ${name} did not allow the request within ${String(Math.round(endMs - startMs))} ms (maxWaitMs); nothing was consumed`,
  );
}
