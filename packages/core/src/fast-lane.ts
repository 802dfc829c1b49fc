import { BatchedLane, type BatchedGrounds } from './batched-lane.ts';
import type { OnStoreError } from './core-options.ts';
import type { Decision } from './decision.ts';
import type { Receipts } from './receipts.ts';
import type { Batching } from './stores/batching/batching.ts';
import type { DenialCache } from './stores/denial-cache.ts';
import type { Leases } from './stores/lease/leases.ts';
import type { Limit, Store } from './stores/store.ts';

/** What the fast lane needs of its limiter. */
export interface FastLaneGrounds extends Omit<BatchedGrounds, 'batching'> {
  /** None where the store decides at once, or one call at a time. */
  readonly batching: Batching | undefined;
  /** None where nobody asked for them. */
  readonly leases: Leases | undefined;
}

/**
 * The short way of the usual request: units of one key, under a plain limit, with nobody to hold them. What it answers is
 * what the limiter would have answered in its general way, and where it cannot tell it says so.
 */
export class FastLane {
  readonly #store: Store;
  readonly #receipts: Receipts;
  readonly #denials: DenialCache | undefined;
  readonly #batched: BatchedLane | undefined;
  readonly #leases: Leases | undefined;

  constructor({ batching, leases, ...grounds }: FastLaneGrounds) {
    this.#leases = leases;
    this.#store = grounds.store;
    this.#receipts = grounds.receipts;
    this.#denials = grounds.denials;
    this.#batched = batching === undefined ? undefined : new BatchedLane({ ...grounds, batching });
  }

  /**
   * @param cost - At least 1.
   * @param onStoreError - What decides when the store does not.
   * @returns Undefined where the general way is to be gone: nothing has happened then.
   */
  take(
    limit: Limit,
    subject: string,
    cost: number,
    onStoreError: OnStoreError,
  ): Decision | Promise<Decision> | undefined {
    // The order of the lanes: what this process holds already, what is known to be refused, then the store: memory at once, or
    // Redis in batches. Leases come first because what they hold was taken from what is refused now.
    const known = this.#leases?.take(limit, subject, cost) ?? this.#denials?.take(limit, subject, cost);
    if (known !== undefined) {
      this.#receipts.writeTaken(known, limit, subject);
      return known;
    }
    this.#leases?.note(limit, subject, cost);
    if (this.#batched !== undefined) return this.#batched.take(limit, subject, cost, onStoreError);
    if (this.#store.take === undefined) return undefined;
    let decision: Decision | undefined;
    try {
      decision = this.#store.take(limit, subject, cost);
    } catch {
      return undefined; // its clock failed, say: the general way tells of it
    }
    if (decision !== undefined) this.#receipts.writeTaken(decision, limit, subject);
    return decision;
  }
}
