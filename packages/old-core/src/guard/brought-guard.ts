import { PolicyError, shown } from '../errors.ts';
import type { Store } from '../engine/store.ts';

let brought: ((store: Store) => unknown) | undefined;

/**
 * Makes guards known to this process. Call it as `@__PURE__`: a bundler then leaves them out where every limiter is in
 * memory, and Node loads them. See docs/adr/0101-a-store-brings-its-guard.md.
 */
export function bringGuard<Guard>(guardOf: (store: Store) => Guard): (store: Store) => Guard {
  brought = guardOf;
  return guardOf;
}

/**
 * The `StoreGuard` of a store.
 *
 * @throws PolicyError in a bundle where nothing brings it.
 */
export function broughtGuard(store: Store): unknown {
  if (brought !== undefined) return brought(store);
  throw new PolicyError(
    'store',
    `this bundle has no deadline and no circuit breaker for a store with the source ${shown(store.source)}; write store: customStore(store), with customStore of @sluice/core`,
    'SLUICE_OPTION_INVALID',
  );
}
