import type { BreakerState } from '../engine/store.ts';
import type { BreakerMessage, DecisionMessage } from '../channels.ts';
import type { Decision } from '../engine/decision.ts';
import { currentOf } from '../engine/limit-source.ts';
import { liveLimiters, type Observed } from './live-limiters.ts';

/** The states of a breaker, furthest from closed first. */
export const BREAKER_STATES: readonly BreakerState[] = ['open', 'half-open', 'closed'];

/** The gauges for one name of a limiter. */
export interface LimiterGauges {
  readonly limiter: string;
  /** Undefined if all limiters of this name count in memory, which has no breaker. */
  readonly breaker: BreakerState | undefined;
  readonly isOnFallback: boolean;
  readonly keysInMemory: number;
  /** The limit of each policy, by its name. */
  readonly limits: ReadonlyMap<string, number>;
}

/** Reads gauges from the limiters in use, and the source of their last decision from the channels. */
export class GaugeReader {
  /** Limiters whose last decision came from the fallback of their store. */
  readonly #onFallback = new Set<string>();

  onDecision({ limiter, decision: { source } }: DecisionMessage): void {
    if (source === 'cache') return; // derived from earlier replies of the store, whether it is available now or not
    if (source === 'local' || source === 'none') this.#onFallback.add(limiter);
    else this.#onFallback.delete(limiter);
  }

  /** When the breaker closes, the store decides again, even before the next request. */
  onBreaker({ limiters, state }: BreakerMessage): void {
    if (state === 'closed') for (const limiter of limiters) this.#onFallback.delete(limiter);
  }

  /** Gauges by name. Limiters of one name on several stores are added up; those on one store count once. */
  read(): readonly LimiterGauges[] {
    const byName = new Map<string, { gauges: LimiterGauges; stores: Set<unknown> }>();
    for (const limiter of liveLimiters()) {
      const { name, store } = limiter;
      const others = byName.get(name);
      if (others?.stores.has(store) === true) continue;
      const status = limiter.status();
      const breaker = status.store === 'memory' ? undefined : status.breaker;
      byName.set(name, {
        gauges: {
          limiter: name,
          breaker: BREAKER_STATES.find((state) => state === breaker || state === others?.gauges.breaker),
          isOnFallback: this.#onFallback.has(name),
          keysInMemory: status.keysInMemory + (others?.gauges.keysInMemory ?? 0),
          limits: new Map([...(others?.gauges.limits ?? []), ...limitsOf(limiter)]),
        },
        stores: (others?.stores ?? new Set()).add(store),
      });
    }
    return [...byName.values()].map(({ gauges }) => gauges);
  }
}

/** The limits of all keys that have no numbers of their own. */
function limitsOf({ limits }: Observed): readonly (readonly [policy: string, limit: number])[] {
  return limits.known.flatMap((ref) =>
    (currentOf(ref)?.policies ?? []).map(
      ({ name, algorithm, policy }) => [name, algorithm.numbers(policy)[0] as number] as const,
    ),
  );
}

/** Whether a decision has left at most a fifth of the limit that decided. */
export function isNear({ allowed, limit, remaining }: Decision): boolean {
  return allowed && limit > 0 && remaining * 5 <= limit;
}
