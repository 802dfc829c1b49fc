import type { OnStoreError } from './options.ts';
import type { LimiterDeps } from './deps.ts';
import type { DecisionPipeline } from './decision-pipeline.ts';
import type { Decision } from '../engine/decision.ts';
import { currentOf, type LimitRef } from '../engine/limit-source.ts';
import type { UnresolvedPart } from './resolve.ts';
import type { DenialCache } from '../guard/denial-cache.ts';
import type { Leases } from '../lease/leases.ts';
import type { Receipts } from './settlement/receipts.ts';
import type { Recipient } from '../guard/batching/coalesced-batch.ts';
import type { Batching } from '../guard/batching/batching.ts';
import { timeoutError } from '../guard/deadline.ts';
import type { Sent } from '../guard/batching/waiting.ts';
import { leftMs } from './left-ms.ts';
import { consumeKey } from '../engine/consume-state.ts';
import type { KeyState, Part, Store } from '../engine/store.ts';

/**
 * The short way of the usual request: units of one key, of a limit that is `fastPathEligible`. It decides what the
 * pipeline would decide, and leaves every other request to the pipeline.
 *
 * A consume passes three stages, and the first that can decide does:
 *
 * 1. the lease: units that this process has already taken from the store. First, because what is held was taken from
 *    what other requests are denied by;
 * 2. the denial cache: the key is known to be denied;
 * 3. the store: memory at once, Redis in a batch.
 *
 * A peek is decided here by the lease alone.
 */
export class FastPath {
  readonly #deps: LimiterDeps;
  readonly #pipeline: DecisionPipeline;
  readonly #store: Store;
  readonly #receipts: Receipts;
  readonly #leases: Leases | undefined;
  readonly #denialCache: DenialCache | undefined;
  readonly #batching: Batching | undefined;

  /** @param pipeline - Decides where the store does not. */
  constructor(deps: LimiterDeps, pipeline: DecisionPipeline) {
    this.#deps = deps;
    this.#pipeline = pipeline;
    this.#store = deps.store;
    this.#receipts = deps.settlements.receipts;
    this.#leases = deps.leases;
    this.#denialCache = deps.denialCache;
    this.#batching = deps.guard?.batching;
  }

  /**
   * Takes the key and the cost by themselves, not as a part: on memory, one more object costs a tenth of the decision.
   *
   * @param endMs - When the decision is late, by `performance.now()`. Default: in `timeoutMs`.
   * @returns Undefined where the pipeline has to decide: nothing has happened then.
   */
  consume(
    ref: LimitRef,
    subject: string,
    cost: number,
    onStoreError: OnStoreError,
    endMs?: number,
  ): Decision | Promise<Decision> | undefined {
    const limit = 'policies' in ref ? ref : currentOf(ref, subject);
    if (limit?.fastPathEligible !== true || cost === 0) return undefined;
    let decision = this.#leases?.consume(limit, subject, cost) ?? this.#denialCache?.deny(limit, subject, cost);
    if (decision === undefined) {
      this.#leases?.recordMiss(limit, subject, cost);
      if (this.#batching !== undefined) {
        return this.#inBatch(this.#batching, { limit, subject, cost }, onStoreError, endMs);
      }
      try {
        decision = this.#store.take?.(limit, subject, cost);
      } catch {
        return undefined; // such as a clock that throws: the pipeline meets the same error, and reports it
      }
      if (decision === undefined) return undefined;
    }
    this.#receipts.writeLazily(decision, limit, subject);
    return decision;
  }

  /** @returns Undefined where the pipeline has to decide. */
  peek(parts: readonly UnresolvedPart[]): Decision | undefined {
    if (this.#leases === undefined || parts.length > 1) return undefined;
    const { limit: ref, subject, cost } = parts[0] as UnresolvedPart;
    const limit = currentOf(ref, subject);
    if (limit?.fastPathEligible !== true || cost === 0) return undefined;
    const decision = this.#leases.consume(limit, subject, cost, 'peek');
    if (decision !== undefined) this.#receipts.writeSpent(decision);
    return decision;
  }

  /** One promise, which is the caller's own. */
  #inBatch(batching: Batching, part: Part, onStoreError: OnStoreError, endMs: number | undefined): Promise<Decision> {
    const deps = this.#deps;
    const timeoutMs = leftMs(deps.timeoutMs, endMs);
    return new Promise((resolve, reject) => {
      const pending = new BatchedDecision(deps, this.#pipeline, part, onStoreError, resolve, reject);
      deps.inFlight.begin();
      try {
        if (timeoutMs <= 0) throw timeoutError(deps.timeoutMs);
        batching.consume(part.limit, part.subject, part.cost, timeoutMs, pending);
      } catch (error) {
        pending.fail(error);
      }
    });
  }
}

/** The decision of a request that waits in a batch. */
class BatchedDecision implements Recipient {
  readonly #deps: LimiterDeps;
  readonly #pipeline: DecisionPipeline;
  readonly #part: Part;
  readonly #onStoreError: OnStoreError;
  readonly #resolve: (decision: Decision | Promise<Decision>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    deps: LimiterDeps,
    pipeline: DecisionPipeline,
    part: Part,
    onStoreError: OnStoreError,
    resolve: (decision: Decision | Promise<Decision>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#deps = deps;
    this.#pipeline = pipeline;
    this.#part = part;
    this.#onStoreError = onStoreError;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  decide(key: KeyState, atMs: number, sent: Sent | undefined): void {
    const part = this.#part;
    const { name, store, fastPaths, settlements, denialCache, inFlight } = this.#deps;
    const decision = consumeKey(part, key, atMs, store.source);
    if (sent === undefined) return;
    if (!decision.allowed) {
      denialCache?.remember(part, key, atMs, sent);
      if (store.showsDenied === true) fastPaths?.warnOfStateAhead(name, part.limit, key.states, decision);
    }
    settlements.receipts.writeLazily(decision, part.limit, part.subject);
    this.#resolve(decision);
    inFlight.end();
  }

  /** Also where it was never sent. */
  fail(error: unknown): void {
    const parts = [this.#part];
    try {
      this.#resolve(
        this.#pipeline.fallback({ op: 'consume', parts }, error, {
          requested: parts,
          onStoreError: this.#onStoreError,
        }),
      );
    } catch (failure) {
      this.#reject(failure);
    }
    this.#deps.inFlight.end();
  }
}
