import type { BatchAnswer, CoalescedRequests } from '../../engine/batch-store.ts';
import type { Store, StoreAnswer, StoreRequest } from '../../engine/store.ts';
import { decideKey } from './decide-key.ts';
import { insideOf } from './memory-store.ts';

/** A memory store for limiters of other processes, which are shown the states of their keys. */
export interface ShownMemory {
  /** As `MemoryStore.perform`. Answers that deny have snapshots, where no state is long. */
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  performBatch(requests: readonly CoalescedRequests[]): BatchAnswer;
}

/** A memory store that shows its states; undefined for another store. */
export function shownMemory(store: Store): ShownMemory | undefined {
  const inside = insideOf(store);
  if (inside === undefined) return undefined;
  return {
    perform: (requests) => {
      const nowMs = inside.nowMs();
      return requests.map((request) => inside.perform(request, nowMs));
    },
    performBatch: (requests) => {
      const nowMs = inside.nowMs();
      return { atMs: nowMs, keys: requests.map((request) => decideKey(inside.keys, request, nowMs)) };
    },
  };
}
