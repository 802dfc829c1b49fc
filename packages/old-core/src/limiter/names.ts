import { PolicyError, shown } from '../errors.ts';
import type { Store } from '../engine/store.ts';

interface Claim {
  limiters: number;
  readonly shared: boolean;
}

/** The names in use on each store, compared as header fields compare them: without regard to case. */
const claimsOn = new WeakMap<Store, Map<string, Claim>>();

/**
 * Claims a limiter's name on a store.
 *
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` when another limiter has it, unless both set `shared`.
 */
export function claimName(store: Store, name: string, shared: boolean): void {
  const names = claimsOn.get(store) ?? new Map<string, Claim>();
  const claim = names.get(name.toLowerCase());
  if (claim !== undefined && !(shared && claim.shared)) {
    throw new PolicyError(
      'name',
      `this store already has a limiter named ${shown(name)}; give this one a name of its own, or write shared: true on both to share the budgets`,
      'SLUICE_LIMITER_NAME_TAKEN',
    );
  }
  claimsOn.set(store, names);
  if (claim === undefined) names.set(name.toLowerCase(), { limiters: 1, shared });
  else claim.limiters++;
}

/** Releases a name. */
export function releaseName(store: Store, name: string): void {
  const names = claimsOn.get(store);
  const claim = names?.get(name.toLowerCase());
  if (names === undefined || claim === undefined) return;
  claim.limiters--;
  if (claim.limiters === 0) names.delete(name.toLowerCase());
}

/** How many closed limiters still have slots to release in a store. */
const leaving = new WeakMap<Store, number>();

/** Keeps a store open after its limiter has closed, until the returned function is called. */
export function stayOn(store: Store): () => void {
  leaving.set(store, (leaving.get(store) ?? 0) + 1);
  return () => {
    leaving.set(store, (leaving.get(store) ?? 0) - 1);
  };
}

/** Whether any limiter uses a store. */
export function isInUse(store: Store): boolean {
  return (leaving.get(store) ?? 0) > 0 || (claimsOn.get(store)?.size ?? 0) > 0;
}
