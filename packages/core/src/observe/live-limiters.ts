import type { DecisionSource } from '../decision.ts';
import type { BreakerState } from '../stores/breaker.ts';

/** How a limiter's store is, as far as this process knows. */
export interface Status {
  readonly store: DecisionSource;
  /** `closed` when the store is asked; in a cluster, the state furthest from that among its parts. */
  readonly breaker: BreakerState;
  /** Keys that the memory store, or the stand-in for another store, holds at present. */
  readonly keysInMemory: number;
}

/** A limiter that metrics look at. */
export interface Observed {
  readonly name: string;
  /** Where it counts: limiters of one name on one store are one. */
  readonly store: object;
  status(): Status;
}

// One list for all copies of this package in a process: as an ES module, as CommonJS, in two versions.
const LIST = Symbol.for('@sluice/core.limiters');
const shared = globalThis as unknown as Record<symbol, Set<WeakRef<Observed>> | undefined>;
const live = (shared[LIST] ??= new Set());
const gone = new FinalizationRegistry<WeakRef<Observed>>((ref) => live.delete(ref));
const refs = new WeakMap<Observed, WeakRef<Observed>>();

/** Lists a limiter until it is closed, or nobody has it any more. */
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
