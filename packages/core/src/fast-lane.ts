import type { OnStoreError } from './core-options.ts';
import type { Decision } from './decision.ts';
import type { Receipts } from './receipts.ts';
import type { Limit, Store } from './stores/store.ts';

/** What the fast lane needs of its limiter. */
export interface FastLaneGrounds {
  readonly store: Store;
  readonly receipts: Receipts;
}

/**
 * The short way of the usual request: units of one key, under a plain limit, with nobody to hold them. What it answers is
 * what the limiter would have answered in its general way, and where it cannot tell it says so.
 */
export class FastLane {
  readonly #store: Store;
  readonly #receipts: Receipts;

  constructor({ store, receipts }: FastLaneGrounds) {
    this.#store = store;
    this.#receipts = receipts;
  }

  /**
   * @param cost - At least 1.
   * @param _onStoreError - What decides when the store does not.
   * @returns Undefined where the general way is to be gone: nothing has happened then.
   */
  take(
    limit: Limit,
    subject: string,
    cost: number,
    _onStoreError: OnStoreError,
  ): Decision | Promise<Decision> | undefined {
    // The order of the lanes: denial cache (here), lease (here), then the store, memory at once or Redis in batches (here).
    const decision = this.#store.take?.(limit, subject, cost);
    if (decision !== undefined) this.#receipts.writeTaken(decision, this.#store, limit, subject);
    return decision;
  }
}
