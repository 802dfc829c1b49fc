import { PolicyError, shown } from './errors.ts';
import type { Store } from './stores/store.ts';

interface Claim {
  readonly name: string;
  limiters: number;
  readonly shared: boolean;
}

/** Which names are in use on which store, compared as header fields compare them: without regard to case. */
const claims = new WeakMap<Store, Map<string, Claim>>();

/**
 * Reserves a limiter's name on a store.
 *
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` when another limiter has it, unless both say that they share it.
 */
export function claimName(store: Store, name: string, shared: boolean): void {
  const names = claims.get(store) ?? new Map<string, Claim>();
  claims.set(store, names);
  const claim = names.get(name.toLowerCase());
  if (claim === undefined) {
    names.set(name.toLowerCase(), { name, limiters: 1, shared });
  } else if (shared && claim.shared) {
    claim.limiters++;
  } else {
    throw new PolicyError(
      'name',
      `this store already has a limiter named ${shown(name)}; give this one a name of its own, or say shared: true on both if they mean the same budgets`,
      'SLUICE_LIMITER_NAME_TAKEN',
    );
  }
}

/** Gives a name back. */
export function releaseName(store: Store, name: string): void {
  const names = claims.get(store);
  const claim = names?.get(name.toLowerCase());
  if (names === undefined || claim === undefined) return;
  claim.limiters--;
  if (claim.limiters === 0) names.delete(name.toLowerCase());
}

/** How many limiters that are closed still have something to release in a store. */
const leaving = new WeakMap<Store, number>();

/** Has a store kept open, after a limiter has closed, until what is answered is called. */
export function stayOn(store: Store): () => void {
  leaving.set(store, (leaving.get(store) ?? 0) + 1);
  return () => {
    leaving.set(store, (leaving.get(store) ?? 0) - 1);
  };
}

/** Whether any limiter has a use for a store. */
export function isInUse(store: Store): boolean {
  return (leaving.get(store) ?? 0) > 0 || (claims.get(store)?.size ?? 0) > 0;
}

/** The names in use on a store. */
export function namesOn(store: Store): readonly string[] {
  return [...(claims.get(store)?.values() ?? [])].map(({ name }) => name);
}
