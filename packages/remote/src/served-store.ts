import {
  performsBatches,
  type BatchAnswer,
  type BatchStore,
  type CoalescedRequests,
  type KeyState,
  asStoreError,
  consumeAcrossNodes,
  spansNodes,
  RecentDenials,
  shownMemory,
} from '@sluice/core/spi';
import type { Store, StoreAnswer, StoreAnswers, StoreCall, StoreRequest } from '@sluice/core';

/** A store as a service offers it to the `remoteStore` of other processes. */
export interface ServedStore {
  /** See `Store.oneSubjectPerCall`. A call with several subjects is answered all the same. */
  readonly oneSubjectPerCall: boolean;
  perform(requests: readonly StoreRequest[], call?: StoreCall): StoreAnswers | Promise<StoreAnswers>;
  /** Absent where the store decides no batches. */
  performBatch?(keys: readonly CoalescedRequests[], call?: StoreCall): BatchAnswer | Promise<BatchAnswer>;
}

/**
 * The store of a service for other processes, which need the states of keys: a memory store shows its own, and a store
 * on several nodes is called once for each subject.
 */
export function servedStore(store: Store): ServedStore {
  const memory = shownMemory(store);
  if (memory !== undefined) return { oneSubjectPerCall: false, ...memory };
  if (store.oneSubjectPerCall === true) return new NodesServed(store);
  const perform: ServedStore['perform'] = (requests, call) => store.perform(requests, call);
  if (!performsBatches(store)) return { oneSubjectPerCall: false, perform };
  return { oneSubjectPerCall: false, perform, performBatch: (keys, call) => store.performBatch(keys, call) };
}

/** A store whose subjects live on different nodes. The decisions of one node hold, even if another one fails. */
class NodesServed implements ServedStore {
  readonly oneSubjectPerCall = true;
  readonly performBatch?: BatchStore['performBatch'];
  readonly #store: Store;
  readonly #denials = new RecentDenials();

  constructor(store: Store) {
    this.#store = store;
    if (performsBatches(store)) this.performBatch = (keys, call) => performBatchOnNodes(store, keys, call);
  }

  async perform(requests: readonly StoreRequest[], call?: StoreCall): Promise<StoreAnswers> {
    const fork = forkOf(call);
    return Promise.all(
      requests.map(async (request) => {
        try {
          return await this.#performOne(request, fork);
        } catch (error) {
          return asStoreError(error);
        }
      }),
    );
  }

  async #performOne(request: StoreRequest, fork: () => StoreCall | undefined): Promise<StoreAnswer | Error> {
    const store = this.#store;
    if (!('parts' in request) || !spansNodes(store, request.parts)) {
      const [answer] = await store.perform([request], fork());
      return answer as StoreAnswer | Error;
    }
    const [answer] = await consumeAcrossNodes(request, {
      denials: this.#denials,
      ask: (requests) => store.perform(requests, fork()),
      refund: (requests) => store.perform(requests),
      inBackground: () => undefined, // it never rejects
      reportFailure: () => undefined, // of another node, whose own callers learn of it
    });
    return answer as StoreAnswer | Error;
  }
}

async function performBatchOnNodes(
  store: BatchStore,
  keys: readonly CoalescedRequests[],
  call: StoreCall | undefined,
): Promise<BatchAnswer> {
  const fork = forkOf(call);
  const instants: number[] = [];
  const states = await Promise.all(
    keys.map(async (key, i): Promise<KeyState | Error> => {
      try {
        const answer = await store.performBatch([key], fork());
        instants[i] = answer.atMs;
        return answer.keys[0] as KeyState | Error;
      } catch (error) {
        return asStoreError(error);
      }
    }),
  );
  const atMs = instants.find((instantMs) => instantMs > 0);
  if (atMs === undefined) throw states[0] as Error; // all have failed
  return { atMs, keys: states, instants: states.map((_, i) => instants[i] ?? atMs) };
}

/** Makes calls that are abandoned together with one: a store counts each by itself. */
function forkOf(call: StoreCall | undefined): () => StoreCall | undefined {
  if (call === undefined) return () => undefined;
  const made: StoreCall[] = [];
  call.onAbandoned = () => {
    for (const one of made) {
      one.abandoned = true;
      one.onAbandoned?.();
    }
  };
  return () => {
    const { abandoned, endMs } = call;
    const one: StoreCall = endMs === undefined ? { abandoned } : { abandoned, endMs };
    made.push(one);
    return one;
  };
}
