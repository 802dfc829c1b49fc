import type { BreakerState } from '../channels.ts';
import type { DecisionSource } from '../decision.ts';

/** The state of a limiter's store, as this process knows it. */
export interface Status {
  readonly store: DecisionSource;
  /** `closed` if the store is called. */
  readonly breaker: BreakerState;
  /** Number of keys in the memory store, or in the fallback of another store. */
  readonly keysInMemory: number;
  /** Managed policies that their source has lost without a removal, and this process still has. */
  readonly lostPolicies: readonly string[];
}

/** A limiter as metrics see it. */
export interface LiveLimiter {
  readonly name: string;
  /** Limiters of one name on one store count as one. */
  readonly store: object;
  /** Whether others may have its name on its store. */
  readonly shared: boolean;
  status(): Status;
  /** Its policies at present, as decisions name them, with the units that each allows at once. */
  policies(): readonly { readonly name: string; readonly limit: number }[];
}

const live = new Set<WeakRef<LiveLimiter>>();
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((end) => {
  end();
});

/**
 * Lists a limiter until it is closed or garbage-collected.
 *
 * @param dropped - Called if it is collected without being closed. It must not refer to the limiter.
 */
export function remember(limiter: LiveLimiter, dropped?: () => void): void {
  const ref = new WeakRef(limiter);
  live.add(ref);
  const end = (): void => {
    live.delete(ref);
    dropped?.();
  };
  collected.register(limiter, end, ref);
}

export function forget(limiter: LiveLimiter): void {
  for (const ref of live) {
    if (ref.deref() !== limiter) continue;
    live.delete(ref);
    collected.unregister(ref);
  }
}

/** The limiters that are in use. */
export function liveLimiters(): readonly LiveLimiter[] {
  return [...live].flatMap((ref) => ref.deref() ?? []);
}

/** Whether any limiter uses a store. */
export function isInUse(store: object): boolean {
  return liveLimiters().some((limiter) => limiter.store === store);
}
