import type { Store } from '../engine/store.ts';
import { guardOf } from './store-guard.ts';

/**
 * Declares a store of your own: returns it as it is. In a bundle it brings the deadline and the circuit breaker, which a
 * bundle with memory stores alone leaves out; outside of bundles a plain object does as well. See
 * docs/guides/creating-a-store.md.
 */
export function customStore<Own extends Store>(store: Own): Own {
  guardOf(store);
  return store;
}
