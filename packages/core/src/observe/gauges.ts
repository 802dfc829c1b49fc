import type { BreakerState } from '../stores/breaker.ts';
import type { BreakerMessage, DecisionMessage } from './channels.ts';
import { liveLimiters } from './live-limiters.ts';

/** The states of a breaker, furthest from closed first. */
export const BREAKER_STATES: readonly BreakerState[] = ['open', 'half-open', 'closed'];

/** What is measured by looking, for one name of a limiter. */
export interface LimiterGauges {
  readonly limiter: string;
  /** None where all that is known by this name counts in memory, which has no breaker. */
  readonly breaker: BreakerState | undefined;
  readonly isOnFallback: boolean;
  readonly keysInMemory: number;
}

/** Looks at the limiters in use. What their status does not say, who made their last decision, it hears of. */
export class GaugeReader {
  /** Limiters whose last decision came from what stands in for their store. */
  readonly #onFallback = new Set<string>();

  onDecision({ limiter, decision: { source } }: DecisionMessage): void {
    if (source === 'cache' || source === 'lease') return; // what the store has said before, whether it is there or not
    if (source === 'local' || source === 'none') this.#onFallback.add(limiter);
    else this.#onFallback.delete(limiter);
  }

  /** A store that is back decides again, even where nobody has asked yet. */
  onBreaker({ limiters, state }: BreakerMessage): void {
    if (state === 'closed') for (const limiter of limiters) this.#onFallback.delete(limiter);
  }

  /** One for each name. Limiters of one name on several stores are taken together; on one store they are the same. */
  read(): readonly LimiterGauges[] {
    const seen = new Map<string, { gauges: LimiterGauges; stores: Set<unknown> }>();
    for (const limiter of liveLimiters()) {
      const { name, store } = limiter;
      const others = seen.get(name);
      if (others?.stores.has(store) === true) continue;
      const status = limiter.status();
      const breaker = status.store === 'memory' ? undefined : status.breaker;
      seen.set(name, {
        gauges: {
          limiter: name,
          breaker: BREAKER_STATES.find((state) => state === breaker || state === others?.gauges.breaker),
          isOnFallback: this.#onFallback.has(name),
          keysInMemory: status.keysInMemory + (others?.gauges.keysInMemory ?? 0),
        },
        stores: (others?.stores ?? new Set()).add(store),
      });
    }
    return [...seen.values()].map(({ gauges }) => gauges);
  }
}
