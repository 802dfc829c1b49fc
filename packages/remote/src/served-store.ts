import { performsBatches, type BatchAnswer, type CoalescedRequests, shownMemory } from '@sluice/old-core/spi';
import type { Store, StoreAnswers, StoreCall, StoreRequest } from '@sluice/old-core';

/** A store as a service offers it to the `remoteStore` of other processes. */
export interface ServedStore {
  /** Whether keys of different subjects live on different nodes. A call with several subjects is answered all the same. */
  readonly hasNodes: boolean;
  perform(requests: readonly StoreRequest[], call?: StoreCall): StoreAnswers | Promise<StoreAnswers>;
  /** Absent where the store decides no batches. */
  performBatch?(keys: readonly CoalescedRequests[], call?: StoreCall): BatchAnswer | Promise<BatchAnswer>;
}

/** The store of a service for other processes, which need the states of keys: a memory store shows its own. */
export function servedStore(store: Store): ServedStore {
  const memory = shownMemory(store);
  if (memory !== undefined) return { hasNodes: false, ...memory };
  const perform: ServedStore['perform'] = (requests, call) => store.perform(requests, call);
  if (!performsBatches(store)) return { hasNodes: false, perform };
  const { hasNodes = false } = store;
  return { hasNodes, perform, performBatch: (keys, call) => store.performBatch(keys, call) };
}
