import {
  breakers,
  decisions,
  storeErrors,
  subscribe,
  type BreakerMessage,
  type BreakerState,
  type DecisionMessage,
  type StoreErrorMessage,
} from '../channels.ts';
import { liveLimiters } from './live-limiters.ts';
import type { Report } from './metric-list.ts';

/** The states of a breaker, furthest from closed first. */
const BREAKER_STATES: readonly BreakerState[] = ['open', 'half-open', 'closed'];

/**
 * Measures all limiters of this process by the channels. Nothing in it throws: Node ends the process if a subscriber
 * does.
 */
export class Measurement {
  /** Limiters whose last decision came from the fallback of their store. */
  readonly #onFallback = new Set<string>();
  readonly #report: Report;
  readonly #stops: readonly (() => void)[];

  /** @param report - Takes counters and histograms as they come. */
  constructor(report: Report) {
    this.#report = report;
    this.#stops = [
      subscribe(decisions, this.#countDecision.bind(this)),
      subscribe(storeErrors, this.#countStoreError.bind(this)),
      subscribe(breakers, this.#countTransition.bind(this)),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #countDecision({ limiter, op, decision, durationMs }: DecisionMessage): void {
    const { allowed, policy, outcome, source, limit, remaining } = decision;
    // A denial from the cache tells nothing of the store.
    if (source === 'local' || source === 'none') this.#onFallback.add(limiter);
    else if (source !== 'cache') this.#onFallback.delete(limiter);
    if (op === 'peek') return; // a peek consumes nothing and denies no request
    this.#report('decisions', { limiter, policy, outcome, source }, 1);
    this.#report('decision.duration', { limiter, source }, durationMs / 1000);
    if (allowed && limit > 0 && remaining * 5 <= limit) this.#report('near_limit', { limiter, policy }, 1);
  }

  #countStoreError({ limiter, store, kind }: Omit<StoreErrorMessage, 'code'>): void {
    this.#report('store.errors', { limiter, store, kind }, 1);
  }

  #countTransition({ limiters, store, kind, state, previous }: BreakerMessage): void {
    for (const limiter of limiters) {
      this.#report('breaker.transitions', { limiter, state }, 1);
      // When the breaker closes, the store decides again, even before the next request.
      if (state === 'closed') this.#onFallback.delete(limiter);
      // Only probes are sent while a breaker is open. If they did not count, an outage would look as if it had ended.
      if (previous === 'half-open' && state === 'open') this.#countStoreError({ limiter, store, kind });
    }
  }

  /** Reports all gauges. Limiters of one name on several stores are added up; those on one store count once. */
  readGauges(report: Report): void {
    const seen = new Map<string, Set<object>>();
    const keys = new Map<string, number>();
    const states = new Map<string, BreakerState>();
    const lost = new Map<string, number>();
    for (const live of liveLimiters()) {
      const { name: limiter, store } = live;
      const stores = seen.get(limiter) ?? new Set();
      if (stores.has(store)) continue;
      seen.set(limiter, stores.add(store));
      const status = live.status();
      keys.set(limiter, (keys.get(limiter) ?? 0) + status.keysInMemory);
      lost.set(limiter, (lost.get(limiter) ?? 0) + status.lostPolicies.length);
      if (status.store !== 'memory') {
        const both = [status.breaker, states.get(limiter)];
        states.set(limiter, BREAKER_STATES.find((state) => both.includes(state)) ?? 'closed');
      }
      for (const { name: policy, limit } of live.policies()) report('limit', { limiter, policy }, limit);
    }
    for (const [limiter, count] of keys) {
      report('memory.keys', { limiter }, count);
      report('fallback.active', { limiter }, this.#onFallback.has(limiter) ? 1 : 0);
    }
    for (const [limiter, count] of lost) report('policies.lost', { limiter }, count);
    for (const [limiter, current] of states) {
      for (const state of BREAKER_STATES) report('breaker.state', { limiter, state }, state === current ? 1 : 0);
    }
  }
}
