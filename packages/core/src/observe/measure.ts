import { breakers, decisions, storeErrors, subscribe, type BreakerState, type StoreErrorMessage } from '../channels.ts';
import { liveLimiters } from './live-limiters.ts';
import type { Report } from './metric-list.ts';

/** The states of a breaker, the furthest from closed first. */
const BREAKER_STATES: readonly BreakerState[] = ['open', 'half-open', 'closed'];

export interface Measurement {
  readonly stop: () => void;
  /** Reports all gauges. Limiters with one name on several stores are added up; those on one store count once. */
  readonly readGauges: (report: Report) => void;
}

/**
 * Measures all limiters of this process through the channels. Nothing in it throws, because Node ends the process if a
 * subscriber does.
 *
 * @param report - Receives counters and histograms as they occur.
 */
export function measure(report: Report): Measurement {
  /** Limiters whose last decision came from the fallback of their store. */
  const onFallback = new Set<string>();
  const countStoreError = ({ limiter, store, kind }: Omit<StoreErrorMessage, 'code'>): void => {
    report('store.errors', { limiter, store, kind }, 1);
  };
  const stops = [
    subscribe(decisions, ({ limiter, op, decision, durationMs }) => {
      const { allowed, policy, outcome, source, limit, remaining } = decision;
      // A denial from the cache tells nothing about the store.
      if (source === 'local' || source === 'none') onFallback.add(limiter);
      else if (source !== 'cache') onFallback.delete(limiter);
      if (op === 'peek') return; // a peek consumes nothing and denies no request
      report('decisions', { limiter, policy, outcome, source }, 1);
      report('decision.duration', { limiter, source }, durationMs / 1000);
      if (allowed && limit > 0 && remaining * 5 <= limit) report('near_limit', { limiter, policy }, 1);
    }),
    subscribe(storeErrors, countStoreError),
    subscribe(breakers, ({ limiters, store, kind, state, previous }) => {
      for (const limiter of limiters) {
        report('breaker.transitions', { limiter, state }, 1);
        // When the breaker closes, the store decides again, even before the next request.
        if (state === 'closed') onFallback.delete(limiter);
        // Only probes are sent while a breaker is open. If they did not count, an outage would look as if it had ended.
        if (previous === 'half-open' && state === 'open') countStoreError({ limiter, store, kind });
      }
    }),
  ];
  return {
    stop: () => {
      for (const stop of stops) stop();
    },
    readGauges: (reportGauge) => {
      readGauges(reportGauge, onFallback);
    },
  };
}

function readGauges(report: Report, onFallback: ReadonlySet<string>): void {
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
    report('keys_in_memory', { limiter }, count);
    report('policies.lost', { limiter }, lost.get(limiter) ?? 0);
    report('fallback.active', { limiter }, onFallback.has(limiter) ? 1 : 0);
  }
  for (const [limiter, current] of states) {
    for (const state of BREAKER_STATES) report('breaker.state', { limiter, state }, state === current ? 1 : 0);
  }
}
