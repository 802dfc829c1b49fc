import { breakers, type BreakerState } from '../channels.ts';
import { StoreError, asStoreError, shown } from '../errors.ts';
import type { LimitEvent } from '../events/event.ts';
import { findTimeline } from '../events/timeline.ts';
import { within } from '../platform.ts';
import { memoryStore, type MemoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import { warn, warnOnce } from '../warnings.ts';
import { Breaker, readKind, type BreakerOwner } from './breaker.ts';
import { findGrace, startWaiting, stopWaiting, WaitingCall } from './deadlines.ts';
import { KeptEdits } from './kept-edits.ts';

export { isFault } from './breaker.ts';

/** A probe may take as long as a request of the limiter with the longest timeout, within these bounds. */
const MIN_PROBE_MS = 100;
const MAX_PROBE_MS = 1_000;
/** No limiter's name starts with a minus. */
const PROBE: Ask = {
  key: '{probe}:-probe',
  policy: { algorithm: 'fixedWindow', limit: 1_000, windowMs: 1, align: 'first-hit' },
  cost: 1,
};
const MAX_NAMED = 5;

const guards = /* @__PURE__ */ new WeakMap<Store, Guard>();

/** The guard of a store, which all its limiters share. */
export function findGuard(store: Store): Guard {
  let guard = guards.get(store);
  if (guard === undefined) guards.set(store, (guard = new Guard(store)));
  return guard;
}

/** Calls a store that may be slow, hung or gone: within a deadline, and not while its breaker is open. */
export class Guard implements BreakerOwner {
  readonly #store: Store;
  readonly #breaker = new Breaker(this);
  /** The limiters that use the store. */
  readonly #limiters = new Set<{ readonly name: string }>();
  /** Whether all its limiters have left. Then nothing may reopen the store, because it would stay open. */
  isUnused = false;
  readonly #kept = new KeptEdits(async (op, asks) => {
    if (!this.isUnused) await this.perform(op, asks, performance.now() + this.#probeMs);
  });
  #fallback: MemoryStore | undefined;
  /** Ends the event of the current outage. */
  #outage: ((more?: Partial<LimitEvent>) => Promise<void>) | undefined;
  #awaySinceMs = 0;
  /** The longest time that any request allowed for a call. */
  #patienceMs = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get state(): BreakerState {
    return this.#breaker.state;
  }

  /** The memory of this process in which `onStoreError: 'local'` decides. */
  get fallback(): MemoryStore {
    return (this.#fallback ??= memoryStore());
  }

  /**
   * Adds a limiter, so that the breaker's messages name it. The returned function removes it; the last one ends
   * probing.
   */
  join(name: string): () => void {
    const limiter = { name };
    this.#limiters.add(limiter);
    this.isUnused = false;
    return () => {
      if (!this.#limiters.delete(limiter) || this.#limiters.size > 0) return;
      this.isUnused = true;
      this.#breaker.close();
    };
  }

  /**
   * Performs a request until `endMs` (by `performance.now()`), which all limiters of an HTTP request share. If the
   * first connection is still being made, it waits longer. A late answer is ignored, and nothing is sent again: the
   * store may have executed the call.
   *
   * @throws (at once, or as a rejection) StoreError `SLUICE_BREAKER_OPEN`, `SLUICE_STORE_TIMEOUT`, or the store's own.
   */
  perform(op: Op, asks: readonly Ask[], endMs: number): Answer | Promise<Answer> {
    if (this.#breaker.state !== 'closed') throw this.#breaker.rejection();
    const sentMs = performance.now();
    const lastMs = endMs > sentMs ? endMs : findGrace(sentMs);
    if (lastMs <= sentMs) {
      const message = 'the request ran out of time (timeoutMs) before the store was called';
      throw new StoreError('SLUICE_STORE_TIMEOUT', message, { sent: false });
    }
    const opening = this.#store.opening?.();
    if (opening !== undefined) {
      return opening.then(() => this.perform(op, asks, performance.now() + lastMs - sentMs));
    }
    let answer: Answer | Promise<Answer>;
    try {
      answer = this.#store.perform(op, asks, lastMs);
    } catch (error) {
      this.#breaker.failed(sentMs, error);
      throw asStoreError(error);
    }
    return 'then' in answer ? this.#wait(answer, sentMs, lastMs) : answer;
  }

  #wait(answer: Promise<Answer>, sentMs: number, endMs: number): Promise<Answer> {
    this.#patienceMs = Math.max(this.#patienceMs, endMs - sentMs);
    this.#breaker.sent(sentMs);
    return new Promise((resolve, reject) => {
      const call = new WaitingCall(endMs, (nowMs) => {
        const error = makeLateError(endMs - sentMs);
        this.#breaker.timedOut(sentMs, nowMs, error);
        reject(error);
      });
      startWaiting(call, sentMs);
      answer.then(
        (answered) => {
          this.#breaker.answered(stopWaiting(call));
          resolve(answered);
        },
        (error: unknown) => {
          if (!stopWaiting(call)) return;
          this.#breaker.failed(sentMs, error);
          reject(asStoreError(error));
        },
      );
    });
  }

  /**
   * Keeps an edit that was certainly not sent (its StoreError has `sent: false`), or a release, and sends it when the
   * breaker closes, or after half a second: at most 1000 edits, for 10 s. No other edit may be kept, because it could
   * be executed twice.
   */
  keep(op: Op, asks: readonly Ask[]): void {
    this.#kept.add(op, asks);
  }

  /** A probe writes, because a read-only store does not help. */
  probe(): Promise<unknown> {
    const probeMs = this.#probeMs;
    const answer = new Promise((resolve) => {
      resolve(this.#store.perform('take', [PROBE], performance.now() + probeMs));
    });
    return within(probeMs, answer, () => makeLateError(probeMs));
  }

  get #probeMs(): number {
    return Math.min(Math.max(this.#patienceMs, MIN_PROBE_MS), MAX_PROBE_MS);
  }

  changed(previous: BreakerState): void {
    const { state, lastError } = this.#breaker;
    const kind = readKind(lastError);
    breakers.publish({ limiters: this.#names, store: this.#store.source, state, previous, kind });
    if (previous === 'closed') this.#begin(kind);
    else if (state === 'closed') this.#end();
  }

  #begin(kind: string): void {
    this.#awaySinceMs = Date.now();
    this.warn();
    const reason = `${kind}: ${this.#breaker.whyOpen}`;
    const event = { atMs: this.#awaySinceMs, what: 'outage', limit: this.#names.join(', '), reason } as const;
    this.#outage = findTimeline(this.#store).begin(event);
  }

  #end(): void {
    this.#kept.sendAll();
    const end = this.#outage;
    this.#outage = undefined;
    if (this.isUnused) {
      void end?.(); // whether the store is back is not known
      return;
    }
    const [sinceMs, nowMs] = [this.#awaySinceMs, Date.now()];
    void end?.({ endAtMs: nowMs });
    const times = `from ${writeInstant(sinceMs)} to ${writeInstant(nowMs)}`;
    warn('SLUICE_STORE_AWAY', `The ${this.#store.source} store of ${this.#listed} is back: it was down ${times}.`);
  }

  get #names(): readonly string[] {
    return [...new Set([...this.#limiters].map(({ name }) => name))];
  }

  warn(): void {
    const { lastError, whyOpen } = this.#breaker;
    const names = this.#listed;
    const kind = readKind(lastError);
    const since = `Since ${writeInstant(Date.now())} onStoreError decides, until the store is back.`;
    warnOnce(
      'SLUICE_STORE_AWAY',
      `The ${this.#store.source} store of ${names} keeps failing (${kind}): ${whyOpen}. ${since}`,
      `${kind} ${names}`,
    );
  }

  get #listed(): string {
    const limiters = this.#names;
    const more = limiters.length - MAX_NAMED;
    return `${limiters.slice(0, MAX_NAMED).map(shown).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
  }
}

function writeInstant(ms: number): string {
  return new Date(ms).toISOString();
}

function makeLateError(ms: number): StoreError {
  const message = `the store did not decide within ${String(Math.round(ms))} ms (timeoutMs); the request may have counted`;
  return new StoreError('SLUICE_STORE_TIMEOUT', message);
}
