import type { RunStore } from '../runs.ts';
import type { Shard } from '../shard.ts';
import type { DecidingRequest, Limit, StoreAnswers } from '../store.ts';
import { RequestsBatch, WaitingRequest } from './requests-batch.ts';
import { WaitingAnswer, type RunAnswer } from './run-answer.ts';
import { RunsBatch, type WaitingRun } from './runs-batch.ts';
import type { Waiting } from './waiting.ts';

/** What goes out together. */
export interface Batch {
  /**
   * Sends it, in one call or several.
   *
   * @param isIdle - Whether nothing else is on its way.
   * @returns Per call what the store answers.
   */
  send(store: RunStore, isIdle: boolean): readonly Promise<unknown>[];
}

/**
 * Sends decisions that are asked for in the same turn of the event loop in one call, whatever their keys, in the order in
 * which they were asked for. Nothing waits for others to come: the first of a turn leaves at its end at the latest, and
 * while calls are on their way the next ones follow.
 */
export class Batching {
  readonly #store: RunStore;
  readonly #shardOf: (subject: string, timeoutMs: number) => Shard;
  #batches: (RunsBatch | RequestsBatch)[] = [];
  #onItsWay = 0;
  #isScheduled = false;
  readonly #flush = (): void => {
    this.flush();
  };
  readonly #left = (): void => {
    this.#onItsWay--;
  };

  /** @param shardOf - The part of the store that a subject lives in. */
  constructor(store: RunStore, shardOf: (subject: string, timeoutMs: number) => Shard) {
    this.#store = store;
    this.#shardOf = shardOf;
  }

  /**
   * Takes requests for one key of a plain limit along with the next call.
   *
   * @throws StoreError `SLUICE_BREAKER_OPEN`.
   */
  add(waiting: WaitingRun): void {
    this.#enter(waiting);
    const last = this.#batches.at(-1);
    if (!(last instanceof RunsBatch && last.add(waiting))) {
      const batch = new RunsBatch(this.#store);
      batch.add(waiting);
      this.#batches.push(batch);
    }
    this.#schedule();
  }

  /**
   * Asks for `count` requests of `cost` for one key of a plain limit, whose policies admit as many units as they say remain
   * (no overdraft, no pacing), along with the next call.
   *
   * @throws (rejects) as {@link ask} does.
   */
  run(limit: Limit, subject: string, cost: number, count: number, timeoutMs: number): Promise<RunAnswer> {
    return new Promise((resolve, reject) => {
      this.add(new WaitingAnswer({ limit, subject, cost, count }, timeoutMs, resolve, reject));
    });
  }

  /**
   * Asks for a decision of any kind, along with the next call.
   *
   * @throws (rejects) StoreError `SLUICE_BREAKER_OPEN`, `SLUICE_STORE_TIMEOUT`, and as the store does.
   */
  ask(request: DecidingRequest, timeoutMs: number): Promise<StoreAnswers> {
    return new Promise((resolve, reject) => {
      const waiting = new WaitingRequest(request, timeoutMs, resolve, reject);
      this.#enter(waiting);
      const last = this.#batches.at(-1);
      if (!(last instanceof RequestsBatch && last.add(waiting))) {
        const batch = new RequestsBatch();
        batch.add(waiting);
        this.#batches.push(batch);
      }
      this.#schedule();
    });
  }

  /** Sends what waits to be sent, so that what is sent next comes after it. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#batches.length === 0) return;
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) {
      for (const answered of batch.send(this.#store, this.#onItsWay === 0)) {
        this.#onItsWay++;
        answered.then(this.#left, this.#left);
      }
    }
  }

  #enter(waiting: Waiting): void {
    waiting.enter(this.#shardOf(waiting.subject, waiting.timeoutMs));
  }

  /** A lone request leaves as soon as this piece of work is done; while others are on their way, it goes with all of its turn. */
  #schedule(): void {
    if (this.#store.batching === false) {
      this.flush();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      if (this.#onItsWay === 0) process.nextTick(this.#flush);
      else setImmediate(this.#flush);
    }
  }
}
