import type { Store } from '@sluice/core';

let brought: ((store: Store) => void) | undefined;

/**
 * Makes the watch of names known to this process. Call it as `@__PURE__` with what uses the watch, which it returns: a
 * bundle without that has no watch, and Node loads it. See docs/adr/0101-a-store-brings-its-guard.md.
 */
export function bringWatch<User>(user: User, watch: (store: Store) => void): User {
  brought = watch;
  return user;
}

/** Watches the names of all limiters that this process has on a store, once for each store. Only in Redis. */
export function watchNames(store: Store): void {
  brought?.(store);
}
