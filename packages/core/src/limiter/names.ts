import { PolicyError, shown } from '../errors.ts';
import type { Store } from '../stores/store.ts';
import { warnOnce } from '../warnings.ts';

interface Claim {
  readonly shared: boolean;
  /** Weak, so that a limiter that was dropped and never closed leaves its name free. */
  readonly limiters: Set<WeakRef<object>>;
}

/** The names in use on each store, compared as header fields compare them: without regard to case. */
const claimsOn = new WeakMap<Store, Map<string, Claim>>();

/** Fewer limiters that were dropped may be those of tests. */
const MANY = 10;
let droppedCount = 0;
const dropped = /* @__PURE__ */ new FinalizationRegistry<{ name: string; ownsMemory: boolean; release: () => void }>(
  ({ name, ownsMemory, release }) => {
    release();
    if (!ownsMemory || ++droppedCount !== MANY) return;
    const what = `${String(MANY)} limiters with memory of their own, the last one named ${name}, were made, dropped and never closed`;
    warnOnce(
      'SLUICE_LIMITER_PER_REQUEST',
      `${what}: what they counted is lost. A limiter that is made for every request denies none. Make it once, outside the handler, and keep it.`,
    );
  },
);

/**
 * Claims a limiter's name on a store.
 *
 * @param ownsMemory - Whether what it counts is lost with it.
 * @returns Releases the name.
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` if another limiter has it, unless both set `shared`.
 */
export function claimName(
  limiter: object,
  store: Store,
  { name, shared, ownsMemory }: { readonly name: string; readonly shared: boolean; readonly ownsMemory: boolean },
): () => void {
  const names = claimsOn.get(store) ?? new Map<string, Claim>();
  const claim = names.get(name.toLowerCase()) ?? { shared, limiters: new Set() };
  const isTaken = [...claim.limiters].some((ref) => ref.deref() !== undefined);
  if (isTaken && !(shared && claim.shared)) {
    throw new PolicyError(
      'name',
      `this store already has a limiter named ${shown(name)}; give this one a name of its own, or write shared: true on both to share the budgets`,
      'SLUICE_LIMITER_NAME_TAKEN',
    );
  }
  const own = isTaken ? claim : { shared, limiters: new Set<WeakRef<object>>() };
  const ref = new WeakRef(limiter);
  own.limiters.add(ref);
  claimsOn.set(store, names.set(name.toLowerCase(), own));
  const release = (): void => {
    own.limiters.delete(ref);
    if (own.limiters.size === 0 && names.get(name.toLowerCase()) === own) names.delete(name.toLowerCase());
  };
  dropped.register(limiter, { name, ownsMemory, release }, ref);
  return () => {
    dropped.unregister(ref);
    release();
  };
}

/** How many limiters have closed, and still hold slots in a store. */
const leaving = new WeakMap<Store, number>();

/** Keeps a store open until the returned function is called. */
export function stayOn(store: Store): () => void {
  leaving.set(store, (leaving.get(store) ?? 0) + 1);
  return () => void leaving.set(store, (leaving.get(store) ?? 0) - 1);
}

/** Whether any limiter uses a store. */
export function isInUse(store: Store): boolean {
  return (leaving.get(store) ?? 0) > 0 || (claimsOn.get(store)?.size ?? 0) > 0;
}
