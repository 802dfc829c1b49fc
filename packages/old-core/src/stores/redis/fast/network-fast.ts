import type { BatchStore } from '../../../engine/batch-store.ts';
import type { Decision } from '../../../engine/decision.ts';
import type { DecisionReceipts, Fast, FastHost, OnStoreError } from '../../../engine/fast.ts';
import {
  isOneCall,
  type DecidingRequest,
  type Limit,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
} from '../../../engine/store.ts';
import { timeoutError } from '../../../guard/deadline.ts';
import { guardOf } from '../../../guard/store-guard.ts';
import { BatchedDecision } from './batched-decision.ts';
import { Batching } from './batching/batching.ts';
import type { Sent } from './batching/waiting.ts';
import { DenialCache } from './denial-cache.ts';
import { invalidations } from './invalidations.ts';
import { warnOfStateAhead } from './state-ahead.ts';

/** One for all limiters of a store, so that their decisions share calls. */
const batchings = new WeakMap<Store, Batching>();

function batchingOf(store: BatchStore): Batching {
  let batching = batchings.get(store);
  if (batching === undefined) {
    batching = new Batching(store, guardOf(store));
    batchings.set(store, batching);
  }
  return batching;
}

/** Sends what waits for a store, so that what is sent next comes after it. */
export function flushBatches(store: Store): void {
  batchings.get(store)?.flush();
}

/** Calls a store that brings {@link NetworkFast}: after what waits for it, and the denial caches learn of edits. */
export function performInOrder<T>(store: Store, requests: readonly StoreRequest[], send: () => Promise<T>): Promise<T> {
  flushBatches(store);
  return invalidations.around(requests, send);
}

/**
 * What a store over a network brings along. A consume passes two stages, and the first that can decide does:
 *
 * 1. the denial cache: the key is known to be denied;
 * 2. the batch: one call for the requests of a turn of the event loop.
 */
export class NetworkFast implements Fast {
  readonly #store: BatchStore;
  readonly #host: FastHost;
  readonly #receipts: DecisionReceipts;
  readonly #batching: Batching;
  readonly #denialCache: DenialCache | undefined;

  constructor(store: BatchStore, host: FastHost) {
    const { denialCache } = host;
    this.#store = store;
    this.#host = host;
    this.#receipts = host.receipts;
    this.#batching = batchingOf(store);
    if (denialCache !== undefined && store.showsDenied === true) {
      this.#denialCache = new DenialCache(denialCache.maxKeys, invalidations);
    }
  }

  consume(
    limit: Limit,
    subject: string,
    cost: number,
    onStoreError: OnStoreError,
    endMs: number | undefined,
  ): Decision | Promise<Decision> | undefined {
    const decision = this.#denialCache?.deny(limit, subject, cost);
    if (decision !== undefined) {
      this.#receipts.writeLazily(decision, limit, subject);
      return decision;
    }
    if (this.#store.decidesBatches === false) return undefined;
    return this.#inBatch({ limit, subject, cost }, onStoreError, endMs);
  }

  decide(request: DecidingRequest, timeoutMs: number): StoreAnswers | Promise<StoreAnswers> {
    const { parts } = request;
    const cache = this.#denialCache;
    const known = cache?.answerTo(parts);
    if (known !== undefined) return [{ ...known, source: 'cache' }];
    if (timeoutMs <= 0) throw timeoutError(this.#host.timeoutMs);
    if (this.#store.hasNodes === true && parts.some(({ subject }) => subject !== parts[0]?.subject)) {
      // Their units may be taken on one node, and given back because another denies.
      for (const { limit } of parts) cache?.exclude(limit);
    }
    // Answers combined from several nodes have no key snapshots.
    return isOneCall(this.#store, [request])
      ? this.#batching.decide(request, timeoutMs, this.#learn)
      : guardOf(this.#store).perform([request], timeoutMs, this.#host);
  }

  readonly #learn = ({ parts }: DecidingRequest, answer: StoreAnswer, sent: Sent): void => {
    if (answer.snapshots === undefined || this.#store.showsDenied !== true) return;
    this.#denialCache?.rememberAll(parts, answer, sent);
    this.#warnOfStates(parts, answer);
  };

  /** One promise, which is the caller's own. */
  #inBatch(part: Part, onStoreError: OnStoreError, endMs: number | undefined): Promise<Decision> {
    const host = this.#host;
    const timeoutMs = endMs === undefined ? host.timeoutMs : Math.ceil(endMs - performance.now());
    return new Promise((resolve, reject) => {
      const pending = new BatchedDecision(
        this.#store,
        host,
        this.#denialCache,
        part,
        timeoutMs,
        onStoreError,
        resolve,
        reject,
      );
      host.inFlight.begin();
      try {
        if (timeoutMs <= 0) throw timeoutError(host.timeoutMs);
        this.#batching.add(pending);
      } catch (error) {
        pending.fail(error);
      }
    });
  }

  #warnOfStates(parts: readonly Part[], { atMs, parts: answered, snapshots }: StoreAnswer): void {
    const policies = answered.flatMap((part) => part.policies);
    const outcome = answered.some(({ blocked }) => blocked) ? 'blocked' : 'denied';
    parts.forEach(({ limit }, i) => {
      warnOfStateAhead(this.#host.name, limit, snapshots?.[i]?.states ?? [], { atMs, policies, outcome });
    });
  }
}
