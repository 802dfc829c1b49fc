import type { Decision } from '../decision.ts';
import { shown, SluiceError } from '../errors.ts';
import type { Ask } from '../stores/store.ts';
import { checkCost } from '../values/cost.ts';
import { optional, valueThat, withDefault } from '../values/shape.ts';
import type { Optional, Options, Settings, WithDefault } from '../values/shape.ts';
import type { LimiterCore } from './core.ts';
import type { Want } from './limits.ts';
import { schedule } from './schedule.ts';
import { giveBack } from './settle.ts';

export const WAIT = {
  /** Units: a whole number. Default 1. */
  cost: withDefault((given: unknown): number => (checkCost(given), given), 1) as WithDefault<number>,
  /** Ends the wait when it aborts: the promise rejects with its reason, and nothing is used up. */
  signal: optional(
    valueThat(
      (given) => typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given,
      'an AbortSignal, such as AbortSignal.timeout(1000)',
    ),
  ) as Optional<AbortSignal>,
  /**
   * The longest wait in milliseconds, including the decision's `delayMs`. With 0, the store is called once, if nothing
   * else waits. Default: no limit.
   */
  maxWaitMs: withDefault(
    valueThat((given) => typeof given === 'number' && given >= 0, 'a number of milliseconds, 0 or more'),
    Infinity,
  ) as WithDefault<number>,
  /** How many calls may wait for one key in this process, including this one. Default 10 000. */
  maxWaiters: withDefault(
    valueThat(
      (given) => given === Infinity || (Number.isSafeInteger(given) && Number(given) >= 1),
      'a whole number, 1 or more',
    ),
    10_000,
  ) as WithDefault<number>,
};

export interface WaitOptions extends Options<typeof WAIT> {}

/** How long it takes at most to notice slots that another process has released. */
const SLOTS_POLL_MS = 200;
/** The longest pause after the store has failed. */
const PAUSE_MS = 500;
/** The maximum number of requests in one call. */
const MAX_ASKED = 256;
/** Stores that decide the calls of one turn in order. */
const IN_ORDER: readonly string[] = ['memory', 'redis'];

/** A request that waits. */
interface Waiter {
  /** Called for each attempt: a late release must not free the slot of the next one. */
  readonly makeWants: () => readonly Want[];
  readonly settings: Settings<typeof WAIT>;
  readonly startMs: number;
  readonly endMs: number;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
  /** Whether the store is deciding on it now. */
  isAsked: boolean;
  /** Stops its timers and the listener of its signal. */
  readonly stops: (() => void)[];
}

/** The requests of one limiter that wait: a line per key, or per combination of keys. */
export class Waiting {
  readonly #core: LimiterCore;
  /** The lines in which a subject takes part. */
  readonly #lines = new Map<string, Map<string, Line>>();

  constructor(core: LimiterCore) {
    this.#core = core;
  }

  /** Resolves with the decision that allows the request, in the order of the calls for the same key. */
  async wait(makeWants: Waiter['makeWants'], settings: Waiter['settings']): Promise<Decision> {
    const wants = makeWants();
    this.#core.checkOpen();
    if (settings.signal?.aborted === true) throw settings.signal.reason;
    const id = wants.map(({ limit, subject }) => `${limit.name}{${subject}}`).join(''); // no subject has braces
    const line = this.#lines.get((wants[0] as Want).subject)?.get(id) ?? this.#open(id, wants);
    return line.add(makeWants, settings);
  }

  #open(id: string, wants: readonly Want[]): Line {
    // Paced calls that overtake each other would swap their delays.
    const isOneByOne = wants.some(({ limit }) => limit.mayPace) && !IN_ORDER.includes(this.#core.store.source);
    const line = new Line(this.#core, isOneByOne ? 1 : MAX_ASKED, () => {
      for (const { subject } of wants) {
        const lines = this.#lines.get(subject);
        lines?.delete(id);
        if (lines?.size === 0) this.#lines.delete(subject);
      }
    });
    for (const { subject } of wants) {
      this.#lines.set(subject, (this.#lines.get(subject) ?? new Map<string, Line>()).set(id, line));
    }
    return line;
  }

  /** Asks again for requests that wait for one of these keys, because units may have come back. */
  changed(asks: readonly Ask[]): void {
    if (this.#lines.size === 0) return;
    for (const { key } of asks) {
      // The keys of a subject begin with it, in braces.
      for (const line of this.#lines.get(key.slice(1, key.indexOf('}')))?.values() ?? []) line.changed();
    }
  }

  /** Rejects all requests, and refunds what they had taken. */
  close(): void {
    const message = `the limiter ${shown(this.#core.name)} was closed during the wait`;
    const lines = [...this.#lines.values()].flatMap((all) => [...all.values()]);
    for (const line of lines) line.close(new SluiceError('SLUICE_LIMITER_CLOSED', message));
  }
}

/**
 * The requests that wait for the same key, in order of arrival; no request overtakes another one. One call to the store
 * decides for as many as fit, judging by what the last decision left. After a denial, the next call is made when the
 * denied request may be allowed, or units have come back.
 */
class Line {
  readonly #core: LimiterCore;
  readonly #maxAsked: number;
  readonly #emptied: () => void;
  readonly #waiters = new Set<Waiter>();
  /** Allowed requests that wait for the `delayMs` of their decisions. */
  readonly #delayed = new Map<Waiter, Decision>();
  #isAsking = false;
  /** How often units may have come back. */
  #changes = 0;
  /** The smallest remaining number of any policy in the last decision. */
  #remaining = 0;
  #cancelRetry: (() => void) | undefined;

  /** @param emptied - Called when no request waits any more. */
  constructor(core: LimiterCore, maxAsked: number, emptied: () => void) {
    this.#core = core;
    this.#maxAsked = maxAsked;
    this.#emptied = emptied;
  }

  /** Adds a request, which is decided when its turn comes. */
  add(makeWants: Waiter['makeWants'], settings: Waiter['settings']): Promise<Decision> {
    const { signal, maxWaitMs, maxWaiters } = settings;
    if (this.#waiters.size >= maxWaiters) {
      const what = `too many requests wait for this key of the limiter ${shown(this.#core.name)}: maxWaiters is`;
      throw new SluiceError('SLUICE_WAIT_FULL', `${what} ${String(maxWaiters)}; nothing was consumed`);
    }
    return new Promise((resolve, reject) => {
      const startMs = performance.now();
      const request = { makeWants, settings, startMs, endMs: startMs + maxWaitMs };
      const waiter: Waiter = { ...request, resolve, reject, isAsked: false, stops: [] };
      const abort = (): void => {
        this.#leave(waiter, signal?.reason);
      };
      const timeOut = (): void => {
        // A request on which the store is deciding gets that answer first.
        if (!waiter.isAsked) this.#leave(waiter, this.#timeoutError(waiter));
      };
      if (maxWaitMs < Infinity) waiter.stops.push(schedule(waiter.endMs, timeOut));
      signal?.addEventListener('abort', abort, { once: true });
      waiter.stops.push(() => signal?.removeEventListener('abort', abort));
      this.#waiters.add(waiter);
      this.#start();
    });
  }

  /** Asks again at once: units may have come back. */
  changed(): void {
    this.#changes++;
    this.#endRetry();
    this.#start();
  }

  close(error: Error): void {
    const all = [...this.#waiters, ...this.#delayed.keys()];
    this.#waiters.clear(); // so that none is asked about when one in front of it has left
    for (const waiter of all) this.#leave(waiter, error);
  }

  #start(): void {
    if (this.#isAsking || this.#cancelRetry !== undefined) return;
    this.#isAsking = true;
    void this.#core.track(this.#ask());
  }

  /** Asks the store until the first request is denied or none waits. */
  async #ask(): Promise<void> {
    let isDenied = false;
    while (!isDenied && this.#waiters.size > 0) {
      const changes = this.#changes;
      const asked = this.#readNext();
      // Async, so that errors are rejections.
      const attempt = async ({ makeWants }: Waiter): Promise<Decision> =>
        this.#core.decide('try', makeWants(), { isSilent: true });
      const denied = this.#settle(asked, await Promise.allSettled(asked.map(attempt)));
      isDenied = denied !== undefined && changes === this.#changes;
      if (denied !== undefined && isDenied) this.#scheduleRetry(denied);
    }
    this.#isAsking = false;
    this.#endIfEmpty();
  }

  /**
   * The first request in line, and those behind it that fit. More units than it waited for may have come back, so a
   * second request is included too, unless it costs less: it could be allowed while the first is denied.
   */
  #readNext(): readonly Waiter[] {
    const asked: Waiter[] = [];
    let sum = 0;
    for (const waiter of this.#waiters) {
      const { cost } = waiter.settings;
      sum += cost;
      const isSecond = asked.length === 1 && cost >= (asked[0] as Waiter).settings.cost;
      const mayFit = asked.length === 0 || isSecond || sum <= this.#remaining;
      if (asked.length === this.#maxAsked || !mayFit) break;
      waiter.isAsked = true;
      asked.push(waiter);
    }
    return asked;
  }

  /**
   * Serves allowed requests, and rejects those that failed or can never be allowed.
   *
   * @returns The first denial, if that request goes on waiting.
   */
  #settle(asked: readonly Waiter[], attempts: readonly PromiseSettledResult<Decision>[]): Decision | undefined {
    let denied: Decision | undefined;
    for (const [i, waiter] of asked.entries()) {
      const attempt = attempts[i] as PromiseSettledResult<Decision>;
      waiter.isAsked = false;
      if (attempt.status === 'rejected') {
        this.#leave(waiter, attempt.reason);
        continue;
      }
      const decision = attempt.value;
      this.#remaining = decision.remaining;
      if (!decision.allowed) {
        if (this.#staysAfter(waiter, decision)) denied ??= decision;
      } else if (this.#waiters.has(waiter) && denied === undefined) {
        this.#serve(waiter, decision);
      } else {
        // An earlier request that was denied stays in front, and may fit without what this one took.
        this.#giveBack(decision);
      }
    }
    return denied;
  }

  #giveBack(decision: Decision): void {
    void this.#core.track(giveBack(this.#core, decision));
  }

  /** Whether a request goes on waiting after a denial. Rejects it if not. */
  #staysAfter(waiter: Waiter, denial: Decision): boolean {
    if (!this.#waiters.has(waiter)) return false;
    const neverFits = denial.outcome === 'denied' && denial.retryAfterMs === null;
    if (neverFits) this.#core.publish('try', denial, waiter.startMs);
    else if (performance.now() < waiter.endMs) return true;
    this.#leave(waiter, neverFits ? makeNeverFitsError(this.#core.name, denial) : this.#timeoutError(waiter));
    return false;
  }

  #serve(waiter: Waiter, decision: Decision): void {
    const dueMs = performance.now() + decision.delayMs;
    if (decision.delayMs > 0 && dueMs > waiter.endMs) {
      this.#giveBack(decision);
      this.#leave(waiter, this.#timeoutError(waiter));
      return;
    }
    this.#waiters.delete(waiter);
    this.#core.publish('try', decision, waiter.startMs);
    const finish = (): void => {
      this.#end(waiter);
      waiter.resolve(decision);
      this.#endIfEmpty();
    };
    if (decision.delayMs === 0) {
      finish();
      return;
    }
    this.#delayed.set(waiter, decision);
    waiter.stops.push(schedule(dueMs, finish));
  }

  #scheduleRetry({ outcome, retryAfterMs, policies }: Decision): void {
    let waitMs = retryAfterMs ?? SLOTS_POLL_MS;
    if (outcome === 'unavailable' || outcome === 'unconfigured') {
      waitMs = PAUSE_MS * (0.5 + Math.random() / 2); // so that not all processes come back at once
    } else if (policies.some(({ unit }) => unit !== undefined)) {
      waitMs = Math.min(waitMs, SLOTS_POLL_MS); // a slot may be released at any time
    }
    this.#cancelRetry = schedule(performance.now() + Math.max(waitMs, 1), () => {
      this.#cancelRetry = undefined;
      this.#start();
    });
  }

  #endRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  /** Rejects a request that has not ended, and refunds what it had taken. */
  #leave(waiter: Waiter, error: unknown): void {
    const [first] = this.#waiters;
    const delayed = this.#delayed.get(waiter);
    this.#end(waiter);
    waiter.reject(error);
    if (delayed !== undefined) this.#giveBack(delayed);
    // The next one may already fit, if it costs less.
    if (waiter === first && this.#waiters.size > 0) this.changed();
    else this.#endIfEmpty();
  }

  #end(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    this.#delayed.delete(waiter);
    for (const stop of waiter.stops) stop();
  }

  #endIfEmpty(): void {
    if (this.#waiters.size > 0) return;
    this.#endRetry();
    if (!this.#isAsking && this.#delayed.size === 0) this.#emptied();
  }

  #timeoutError({ settings: { maxWaitMs } }: Waiter): SluiceError {
    const within = `within ${String(maxWaitMs)} ms (maxWaitMs)`;
    const what = `the limiter ${shown(this.#core.name)} did not allow the request ${within}`;
    return new SluiceError('SLUICE_WAIT_TIMEOUT', `${what}; nothing was consumed`);
  }
}

function makeNeverFitsError(name: string, { cost, policy, limit }: Decision): SluiceError {
  const what = `a cost of ${String(cost)} never fits the policy ${shown(policy)} of the limiter ${shown(name)}`;
  const instead = `whose limit is ${String(limit)}; split the cost, or raise the limit; nothing was consumed`;
  return new SluiceError('SLUICE_NEVER_FITS', `${what}, ${instead}`);
}
