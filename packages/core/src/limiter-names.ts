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

/** Gives a name back; true when no limiter uses the store any more. */
export function releaseName(store: Store, name: string): boolean {
  const names = claims.get(store);
  const claim = names?.get(name.toLowerCase());
  if (names === undefined || claim === undefined) return true;
  claim.limiters--;
  if (claim.limiters === 0) names.delete(name.toLowerCase());
  return names.size === 0;
}

/** The names in use on a store. */
export function namesOn(store: Store): readonly string[] {
  return [...(claims.get(store)?.values() ?? [])].map(({ name }) => name);
}
