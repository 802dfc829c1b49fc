import type { BatchStore } from '../../../../engine/batch-store.ts';
import type { StoreGuard } from '../../../../guard/store-guard.ts';
import type { DecidingRequest, StoreAnswers } from '../../../../engine/store.ts';
import { GeneralBatch, WaitingRequest, type Learn } from './general-batch.ts';
import { CoalescedBatch, type WaitingCoalesced } from './coalesced-batch.ts';

/**
 * Sends all decisions requested in one turn of the event loop in one call, whatever their keys, in their order. No
 * decision waits for others: the first of a turn leaves at its end at the latest, and the next ones follow while
 * calls are in flight.
 */
export class Batching {
  readonly #store: BatchStore;
  readonly #guard: StoreGuard;
  #batches: (CoalescedBatch | GeneralBatch)[] = [];
  #onItsWay = 0;
  #isScheduled = false;
  readonly #left = (): void => {
    this.#onItsWay--;
  };

  constructor(store: BatchStore, guard: StoreGuard) {
    this.#store = store;
    this.#guard = guard;
  }

  /**
   * Adds requests for one key to the next call.
   *
   * @throws StoreError `SLUICE_BREAKER_OPEN`.
   */
  add(waiting: WaitingCoalesced): void {
    waiting.enter(this.#guard.shardOf(waiting.subject));
    const last = this.#batches.at(-1);
    if (!(last instanceof CoalescedBatch && last.add(waiting))) {
      const batch = new CoalescedBatch(this.#store);
      batch.add(waiting);
      this.#batches.push(batch);
    }
    this.#schedule();
  }

  /**
   * Requests a decision of any kind, in the next call.
   *
   * @param learn - Receives the answer before the caller does.
   * @throws (rejects) StoreError `SLUICE_BREAKER_OPEN`, `SLUICE_STORE_TIMEOUT`, and as the store does.
   */
  decide(request: DecidingRequest, timeoutMs: number, learn: Learn): Promise<StoreAnswers> {
    return new Promise((resolve, reject) => {
      const waiting = new WaitingRequest(request, timeoutMs, learn, resolve, reject);
      waiting.enter(this.#guard.shardOf(waiting.subject));
      const last = this.#batches.at(-1);
      if (!(last instanceof GeneralBatch && last.add(waiting))) {
        const batch = new GeneralBatch(this.#store);
        batch.add(waiting);
        this.#batches.push(batch);
      }
      this.#schedule();
    });
  }

  /** Sends everything that waits, so that a call made next comes after it. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    if (this.#batches.length === 0) return;
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) {
      const sent = batch.send(this.#onItsWay === 0, this.#left);
      this.#onItsWay += sent; // afterwards: sending may have sent others
    }
  };

  /**
   * A lone request leaves as soon as the current task ends; while calls are in flight, requests leave at the end of
   * the turn.
   */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#onItsWay === 0) process.nextTick(this.flush);
    else setImmediate(this.flush);
  }
}
