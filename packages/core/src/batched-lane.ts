import type { OnStoreError } from './core-options.ts';
import type { Decision } from './decision.ts';
import type { InFlight } from './in-flight.ts';
import type { Receipts } from './receipts.ts';
import type { Batching } from './stores/batching/batching.ts';
import { WaitingRun } from './stores/batching/runs-batch.ts';
import type { Sent } from './stores/batching/waiting.ts';
import type { DenialCache } from './stores/denial-cache.ts';
import type { KeyState } from './stores/evaluate.ts';
import type { Limit, Store } from './stores/store.ts';
import { takeFromKey } from './stores/take-from-key.ts';

/** What decisions that go out in batches need of their limiter. */
export interface BatchedGrounds {
  readonly store: Store;
  readonly batching: Batching;
  readonly receipts: Receipts;
  /** None where nothing is remembered of refusals. */
  readonly denials: DenialCache | undefined;
  readonly timeoutMs: number;
  /** What is decided when the store does not. May throw. */
  withoutStore(
    limit: Limit,
    subject: string,
    cost: number,
    mode: OnStoreError,
    error: unknown,
  ): Decision | Promise<Decision>;
  readonly inFlight: InFlight;
}

/** The way of the usual request to a store that decides many keys in one call: one promise, which is the caller's own. */
export class BatchedLane {
  readonly #grounds: BatchedGrounds;

  constructor(grounds: BatchedGrounds) {
    this.#grounds = grounds;
  }

  take(limit: Limit, subject: string, cost: number, mode: OnStoreError): Decision | Promise<Decision> {
    return new Promise((resolve, reject) => {
      const waiting = new WaitingDecision(this.#grounds, limit, subject, cost, mode, resolve, reject);
      this.#grounds.inFlight.entered();
      try {
        this.#grounds.batching.add(waiting);
      } catch (error) {
        waiting.fail(error);
      }
    });
  }
}

class WaitingDecision extends WaitingRun {
  readonly #grounds: BatchedGrounds;
  readonly #mode: OnStoreError;
  readonly #resolve: (decision: Decision | Promise<Decision>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    grounds: BatchedGrounds,
    limit: Limit,
    subject: string,
    cost: number,
    mode: OnStoreError,
    resolve: (decision: Decision | Promise<Decision>) => void,
    reject: (error: unknown) => void,
  ) {
    super(limit, subject, cost, 1, grounds.timeoutMs);
    this.#grounds = grounds;
    this.#mode = mode;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  decide(key: KeyState, atMs: number, sent: Sent | undefined): void {
    const { limit, subject, cost } = this;
    const { store, receipts, denials } = this.#grounds;
    const decision = takeFromKey(limit, subject, key, cost, atMs, store.source);
    if (!decision.allowed && sent !== undefined) denials?.note(this, key, atMs, sent);
    if (sent === undefined) return;
    receipts.writeTaken(decision, limit, subject);
    this.#resolve(decision);
    this.#grounds.inFlight.left();
  }

  /** Also where it was never sent. */
  fail(error: unknown): void {
    const { limit, subject, cost } = this;
    try {
      this.#resolve(this.#grounds.withoutStore(limit, subject, cost, this.#mode, error));
    } catch (failure) {
      this.#reject(failure);
    }
    this.#grounds.inFlight.left();
  }
}
