import type { Decision } from '../decision.ts';
import { SluiceError } from '../errors.ts';
import type { LimiterHost } from './host.ts';
import type { Want } from './limits.ts';
import { schedule } from './schedule.ts';
import { giveBack } from './settle.ts';
import type { WaitSettings } from './wait-options.ts';

/** The longest time until slots that another process has released are seen. */
const SLOTS_POLL_MS = 200;
/** Pauses after a store that has not decided: from the first to the last, doubled each time. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** The most requests that are asked for in one call. */
const MAX_ASKED = 256;

/** Stores that decide calls of one turn in their order. */
const IN_ORDER: readonly string[] = ['memory', 'redis'];

/** A request that waits. */
interface Waiter {
  readonly makeWants: () => readonly Want[];
  /** Whether no other request is asked for at the same time: calls that overtake each other would swap the delays. */
  readonly isAlone: boolean;
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

type Attempt = PromiseSettledResult<Decision>;

/**
 * The requests of one limiter that wait for the same key, in order of arrival. They are asked for in one call, for as
 * many of them as may fit; after a denial none is made before the denied request may be allowed, or units have come back.
 *
 * No request overtakes another one. A call therefore asks for the first ones in line: for those that fit by what the
 * last decision has left, and for some more if none of them costs less than one before it. Of these, a denial of the
 * first implies a denial of the rest.
 */
export class WaitQueue {
  readonly #host: LimiterHost;
  readonly #emptied: () => void;
  readonly #waiters = new Set<Waiter>();
  /** Allowed requests that wait for the `delayMs` of their decisions. */
  readonly #delayed = new Set<Waiter>();
  #isAsking = false;
  /** Resolves when the answer of the call that is under way was dealt with. */
  #answered: Promise<void> | undefined;
  /** How often units may have come back. */
  #changes = 0;
  /** The units that the last decision left. */
  #remaining = 0;
  /** How many requests the last call has allowed. */
  #served = 0;
  /** How many calls in a row were not decided. */
  #undecided = 0;
  #cancelRetry: (() => void) | undefined;

  /** @param emptied - Called when nothing waits any more. */
  constructor(host: LimiterHost, emptied: () => void) {
    this.#host = host;
    this.#emptied = emptied;
  }

  /** Adds a request, which is decided in its turn. */
  add(makeWants: () => readonly Want[], { cost, signal, maxWaitMs, maxWaiters }: WaitSettings): Promise<Decision> {
    if (this.#waiters.size >= maxWaiters) {
      const what = `as many requests wait for this key of the limiter ${this.#host.name} as maxWaiters allows`;
      const message = `${what}, ${String(maxWaiters)}; nothing was consumed`;
      return Promise.reject(new SluiceError('SLUICE_WAIT_FULL', message));
    }
    return new Promise((resolve, reject) => {
      const startMs = performance.now();
      const endMs = startMs + maxWaitMs;
      const isOrdered = IN_ORDER.includes(this.#host.store.source);
      const mayPace = makeWants().some(({ limit }) => limit.mayPace);
      const waiter: Waiter = {
        ...{ makeWants, isAlone: !isOrdered && mayPace, cost, startMs, endMs, resolve, reject },
        ...{ isAsked: false, hasEnded: false, delayed: undefined, stop: () => undefined },
      };
      this.#waiters.add(waiter);
      // One that the store is being asked about gets that answer first.
      const timeOut = (): void => {
        if (!waiter.isAsked) this.#leave(waiter, timeoutError(this.#host.name, waiter));
      };
      let cancelTimeout: (() => void) | undefined;
      if (maxWaitMs === 0) queueMicrotask(timeOut);
      else if (maxWaitMs < Infinity) cancelTimeout = schedule(endMs, timeOut);
      const abort = (): void => {
        this.#leave(waiter, signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      waiter.stop = () => {
        cancelTimeout?.();
        signal?.removeEventListener('abort', abort);
      };
      this.#start();
    });
  }

  /** Asks again at once: units may have come back. */
  changed(): void {
    this.#changes++;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#start();
  }

  /**
   * Rejects all requests.
   *
   * @returns Resolves when what the store is being asked for was given back; undefined if it is not being asked.
   */
  close(error: Error): Promise<void> | undefined {
    const all = [...this.#waiters, ...this.#delayed];
    this.#waiters.clear(); // so that none is asked about when one in front of it has left
    for (const waiter of all) this.#leave(waiter, error);
    return this.#isAsking ? this.#answered : undefined;
  }

  #start(): void {
    if (this.#isAsking || this.#cancelRetry !== undefined) return;
    this.#isAsking = true;
    this.#answered = this.#ask();
  }

  /** Asks the store until the first request is denied, or none waits. */
  async #ask(): Promise<void> {
    let isDenied = false;
    while (!isDenied && this.#waiters.size > 0) {
      const changes = this.#changes;
      const asked = this.#readNext();
      const denied = this.#settle(asked, await Promise.allSettled(asked.map((waiter) => this.#attempt(waiter))));
      isDenied = denied !== undefined && changes === this.#changes;
      if (denied !== undefined && isDenied) this.#scheduleRetry(denied);
    }
    this.#isAsking = false;
    this.#endIfEmpty();
  }

  /** The first requests in line, as many as one call may decide. */
  #readNext(): Waiter[] {
    const asked: Waiter[] = [];
    let beyond = 2 * this.#served + 1;
    let sum = 0;
    let highest = 0;
    for (const waiter of this.#waiters) {
      sum += waiter.cost;
      const mayNotFit = asked.length > 0 && sum > this.#remaining;
      if (mayNotFit && (beyond-- === 0 || waiter.cost < highest)) break;
      highest = Math.max(highest, waiter.cost);
      asked.push(waiter);
      if (asked.length === MAX_ASKED || waiter.isAlone) break;
    }
    return asked;
  }

  // Async, so that what it throws is a rejection.
  async #attempt(waiter: Waiter): Promise<Decision> {
    waiter.isAsked = true;
    return this.#host.decide('try', waiter.makeWants(), { isSilent: true });
  }

  /**
   * Serves the requests that are allowed, and rejects those that failed or can never be allowed.
   *
   * @returns The first denial, if that request goes on waiting.
   */
  #settle(asked: readonly Waiter[], attempts: readonly Attempt[]): Decision | undefined {
    let denied: Decision | undefined;
    this.#served = 0;
    for (const [i, waiter] of asked.entries()) {
      const attempt = attempts[i] as Attempt;
      waiter.isAsked = false;
      if (attempt.status === 'rejected') {
        this.#leave(waiter, attempt.reason);
      } else if (attempt.value.allowed) {
        this.#remaining = attempt.value.remaining;
        // A request that was denied before it stays in front, and may fit without what this one took.
        if (waiter.hasEnded || denied !== undefined) this.#giveBack(attempt.value);
        else this.#serve(waiter, attempt.value);
      } else {
        const stillDenied = this.#deny(waiter, attempt.value);
        denied ??= stillDenied;
      }
    }
    return denied;
  }

  #giveBack(decision: Decision): void {
    void this.#host.track(giveBack(this.#host, decision));
  }

  /** @returns The denial, if the request goes on waiting. */
  #deny(waiter: Waiter, denial: Decision): Decision | undefined {
    if (waiter.hasEnded) return undefined;
    const neverFits = denial.outcome === 'denied' && denial.retryAfterMs === null;
    if (!neverFits && performance.now() < waiter.endMs) {
      this.#remaining = denial.remaining;
      return denial;
    }
    if (neverFits) this.#host.publish('try', denial, waiter.startMs);
    const { name } = this.#host;
    this.#leave(waiter, neverFits ? neverFitsError(name, denial) : timeoutError(name, waiter));
    return undefined;
  }

  #serve(waiter: Waiter, decision: Decision): void {
    this.#served++;
    this.#undecided = 0;
    const dueMs = performance.now() + decision.delayMs;
    if (decision.delayMs > 0 && dueMs > waiter.endMs) {
      this.#giveBack(decision);
      this.#leave(waiter, timeoutError(this.#host.name, waiter));
      return;
    }
    this.#waiters.delete(waiter);
    this.#host.publish('try', decision, waiter.startMs);
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

  #scheduleRetry({ outcome, retryAfterMs, policies }: Decision): void {
    let waitMs = retryAfterMs ?? SLOTS_POLL_MS;
    if (outcome === 'unavailable' || outcome === 'unconfigured') {
      const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#undecided++, MAX_PAUSE_MS);
      waitMs = pauseMs * (0.5 + Math.random() / 2); // so that not all processes come back at once
    } else if (policies.some(({ unit }) => unit !== undefined)) {
      waitMs = Math.min(waitMs, SLOTS_POLL_MS); // a slot may be released at any time
    }
    this.#cancelRetry = schedule(performance.now() + Math.max(waitMs, 1), () => {
      this.#cancelRetry = undefined;
      this.#start();
    });
  }

  /** Rejects a request that has not ended, and gives back what it had. */
  #leave(waiter: Waiter, error: unknown): void {
    if (waiter.hasEnded) return;
    const [first] = this.#waiters;
    this.#end(waiter);
    waiter.reject(error);
    if (waiter.delayed !== undefined) this.#giveBack(waiter.delayed);
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

function neverFitsError(name: string, { cost, policy, limit }: Decision): SluiceError {
  const what = `a cost of ${String(cost)} never fits the policy ${policy} of the limiter ${name}`;
  const instead = `whose limit is ${String(limit)}; ask for less at once, or raise the limit; nothing was consumed`;
  return new SluiceError('SLUICE_NEVER_FITS', `${what}, ${instead}`);
}

function timeoutError(name: string, { startMs, endMs }: Waiter): SluiceError {
  const maxWaitMs = String(Math.round(endMs - startMs));
  const what = `the limiter ${name} did not allow the request within ${maxWaitMs} ms (maxWaitMs)`;
  return new SluiceError('SLUICE_WAIT_TIMEOUT', `${what}; nothing was consumed`);
}
