import type { BreakerState } from '../channels.ts';
import type { DecisionSource } from '../decision.ts';
import { PolicyError, shown } from '../errors.ts';
import { warnOnce } from '../warnings.ts';

/** The state of a limiter's store, as this process knows it. */
export interface Status {
  readonly store: DecisionSource;
  /** `closed` while the store is called. */
  readonly breaker: BreakerState;
  /** Number of keys in the memory store, or in the fallback of another store. */
  readonly keysInMemory: number;
  /** Managed policies that this process still has although their source has lost them. */
  readonly lostPolicies: readonly string[];
}

/** A limiter as metrics see it. */
export interface LiveLimiter {
  readonly name: string;
  /** Limiters with one name on one store count as one. */
  readonly store: object;
  /** Whether others may have its name on its store. */
  readonly shared: boolean;
  status(): Status;
  /** Its current policies, as decisions name them, with the units that each allows at once. */
  policies(): readonly { readonly name: string; readonly limit: number }[];
}

const live = new Set<WeakRef<LiveLimiter>>();
/** Up to this many dropped limiters may come from tests. */
const MANY = 10;
let droppedCount = 0;

const dropped = /* @__PURE__ */ new FinalizationRegistry<{
  readonly ref: WeakRef<LiveLimiter>;
  readonly countsLostBy: string | undefined;
}>(({ ref, countsLostBy }) => {
  live.delete(ref);
  if (countsLostBy === undefined || ++droppedCount !== MANY) return;
  const what = `${String(MANY)} limiters with their own memory, the last one named ${countsLostBy}, were created, dropped and never closed`;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    `${what}: what they counted is lost. A limiter created for every request denies nothing. Create it once, outside the handler, and keep it.`,
  );
});

/**
 * Lists a limiter until it is closed or garbage-collected. Names are compared regardless of case, as header fields
 * compare them.
 *
 * @param ownsMemory - Whether its counts are lost with it: dropping many without closing them causes a warning.
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` if another limiter of the store has the name, unless both spell it
 * alike and set `shared`.
 */
export function remember(limiter: LiveLimiter, ownsMemory = false): void {
  const { name, store, shared } = limiter;
  for (const other of liveLimiters()) {
    if (other.store !== store || other.name.toLowerCase() !== name.toLowerCase()) continue;
    if (shared && other.shared && other.name === name) continue;
    const taken = `this store already has a limiter named ${shown(other.name)}, got ${shown(name)}`;
    const instead = 'give this one another name or, to share the counts, give both the same name and shared: true';
    throw new PolicyError('name', `${taken}; ${instead}`, 'SLUICE_LIMITER_NAME_TAKEN');
  }
  const ref = new WeakRef(limiter);
  live.add(ref);
  dropped.register(limiter, { ref, countsLostBy: ownsMemory ? name : undefined }, ref);
}

export function forget(limiter: LiveLimiter): void {
  for (const ref of live) {
    if (ref.deref() !== limiter) continue;
    live.delete(ref);
    dropped.unregister(ref);
  }
}

/** The limiters that are in use. */
export function liveLimiters(): readonly LiveLimiter[] {
  return [...live].flatMap((ref) => ref.deref() ?? []);
}
