import { PolicyError, shown } from '../errors.ts';
import { warnOnce } from '../warnings.ts';
import type { Store } from '../engine/store.ts';

interface Claim {
  readonly name: string;
  limiters: number;
  readonly shared: boolean;
  readonly policies: WrittenPolicies;
}

/** The policies of a limiter as text, by the end of the keys that they share. Empty where they are chosen later. */
export type WrittenPolicies = ReadonlyMap<string, string>;

/** The names in use on each store, compared as header fields compare them: without regard to case. */
const claimsOn = new WeakMap<Store, Map<string, Claim>>();
/** The stores of each place that have claims, or had some. */
const storesAt = new Map<string, Set<WeakRef<Store>>>();

/**
 * Claims a limiter's name on a store, and on the place where that store keeps its keys, where it says so.
 *
 * Two limiters of one name and one kind of policies in one place share their budgets whichever store each of them has.
 * Where the numbers differ, that is an error. Where they are the same, it can be a module that was loaded twice: a warning.
 *
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` when another limiter has it, unless both set `shared`.
 */
export function claimName(store: Store, name: string, shared: boolean, policies: WrittenPolicies = new Map()): void {
  const names = claimsOn.get(store) ?? new Map<string, Claim>();
  const claim = names.get(name.toLowerCase());
  if (claim !== undefined && !(shared && claim.shared)) throw taken('this store', name, '');
  if (claim === undefined) checkPlace(store, { name, shared, policies });
  claimsOn.set(store, names);
  if (claim === undefined) names.set(name.toLowerCase(), { name, limiters: 1, shared, policies });
  else claim.limiters++;
}

function checkPlace(store: Store, { name, shared, policies }: Omit<Claim, 'limiters'>): void {
  const { place } = store;
  if (place === undefined) return;
  for (const claim of claimsAt(place, store, name)) {
    const meet = meeting(policies, claim.policies);
    if ((shared && claim.shared) || meet === undefined) continue;
    if (meet === 'differ') {
      throw taken(`another store of this process with the keys of ${place}`, name, ', with other policies');
    }
    warnOnce(
      'SLUICE_LIMITER_NAME_SHARED',
      `two limiters named ${shown(name)} have stores of their own with the keys of ${place}: they share their budgets. Give each a ` +
        'name, or its store a prefix, of its own; or make the limiter once; or, to share on purpose, write shared: true on both.',
      `${place} ${name.toLowerCase()}`,
    );
  }
}

/** Whether two limiters of one name share keys, and then whether by the same policies. Undefined: they share none. */
function meeting(one: WrittenPolicies, other: WrittenPolicies): 'alike' | 'differ' | undefined {
  if (one.size === 0 || other.size === 0) return 'alike'; // as far as is known
  const common = [...one].filter(([keySuffix]) => other.has(keySuffix));
  if (common.length === 0) return undefined;
  return common.every(([keySuffix, text]) => other.get(keySuffix) === text) ? 'alike' : 'differ';
}

/** The claims of a name by other stores of a place. The store is one of that place from here on. */
function claimsAt(place: string, store: Store, name: string): Claim[] {
  const stores = storesAt.get(place) ?? new Set();
  storesAt.set(place, stores);
  let isKnown = false;
  const found: (Claim | undefined)[] = [];
  for (const ref of stores) {
    const other = ref.deref();
    if (other === store) isKnown = true;
    else if (other === undefined || !isClaimed(other)) stores.delete(ref);
    else found.push(claimsOn.get(other)?.get(name.toLowerCase()));
  }
  if (!isKnown) stores.add(new WeakRef(store));
  return found.filter((claim) => claim !== undefined);
}

function taken(where: string, name: string, how: string): PolicyError {
  return new PolicyError(
    'name',
    `${where} already has a limiter named ${shown(name)}${how}; give this one a name of its own, or write shared: true on both to share the budgets`,
    'SLUICE_LIMITER_NAME_TAKEN',
  );
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
  return (leaving.get(store) ?? 0) > 0 || isClaimed(store);
}

function isClaimed(store: Store): boolean {
  return (claimsOn.get(store)?.size ?? 0) > 0;
}
