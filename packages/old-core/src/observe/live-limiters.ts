import type { BreakerState } from '../engine/store.ts';
import type { DecisionSource } from '../engine/decision.ts';
import type { LimitRef } from '../engine/limit-source.ts';

/** The state of a limiter's store, as this process knows it. */
export interface Status {
  readonly store: DecisionSource;
  /** `closed` if the store is called. In a cluster: the state of its breakers that is furthest from closed. */
  readonly breaker: BreakerState;
  /** Number of keys in the memory store, or in the fallback of another store. */
  readonly keysInMemory: number;
}

/** A limiter as metrics see it. */
export interface Observed {
  readonly name: string;
  /** The store: limiters of one name on one store count as one. */
  readonly store: object;
  status(): Status;
  /** Its limits in use. */
  readonly limits: { readonly known: readonly LimitRef[] };
}

const live = new Set<WeakRef<Observed>>();
const gone = new FinalizationRegistry<WeakRef<Observed>>((ref) => live.delete(ref));
const refs = new WeakMap<Observed, WeakRef<Observed>>();

/** Lists a limiter until it is closed or garbage-collected. */
export function remember(limiter: Observed): void {
  const ref = new WeakRef(limiter);
  live.add(ref);
  refs.set(limiter, ref);
  gone.register(limiter, ref, limiter);
}

export function forget(limiter: Observed): void {
  const ref = refs.get(limiter);
  if (ref !== undefined) live.delete(ref);
  gone.unregister(limiter);
}

/** The limiters that are in use. */
export function liveLimiters(): readonly Observed[] {
  return [...live].flatMap((ref) => ref.deref() ?? []);
}
