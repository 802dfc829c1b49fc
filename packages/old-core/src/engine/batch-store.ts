import type { Limit, Store, StoreCall, KeyState } from './store.ts';

/** Requests for one key of a limit that is `fastPathEligible`, in order, each whole or not at all. */
export interface CoalescedRequests {
  readonly limit: Limit;
  /** Encoded: see `encodeSubject`. */
  readonly subject: string;
  /** A cost, the number of requests with it, the next cost, and so on. Undefined: a single request of cost 1. */
  readonly runs: readonly number[] | undefined;
}

/**
 * The findings of a store. It has decided the requests, and consumed what was allowed; the kernels derive the
 * decisions.
 */
export interface BatchAnswer {
  /** The store's clock when it decided, whole milliseconds. */
  readonly atMs: number;
  /** Per key the same, where the store decided them at several instants. */
  readonly instants?: readonly number[];
  /** Per key its state before the requests, or why it could not be read. */
  readonly keys: readonly (KeyState | Error)[];
}

/** A store that decides many keys in one call. */
export interface BatchStore extends Store {
  /** Whether keys of different subjects live on different nodes, so that each is a call of its own. Default false. */
  readonly hasNodes?: boolean;
  /** False while it is not known to decide batches: then each request is a call of `perform`. Default true. */
  readonly decidesBatches?: boolean;
  /**
   * @param keys - All different, of limits that are `fastPathEligible`. Empty once the call is abandoned.
   */
  performBatch(keys: readonly CoalescedRequests[], call?: StoreCall): Promise<BatchAnswer>;
}

export function performsBatches(store: Store): store is BatchStore {
  return typeof (store as Partial<BatchStore>).performBatch === 'function';
}

/** A larger call would block the other clients of the store for longer than some milliseconds. */
export const MOST_KEYS = 256;
export const MOST_BYTES = 65_536;

/** The work of a policy whose state has a key of its own, which several commands read and write. */
const EXTERNAL_WORK = 3;

/** The share of {@link MOST_KEYS} that a key of a limit uses: 1 for a single policy of one count. */
export function workOf({ policies }: Limit): number {
  let work = 0.4;
  for (const { algorithm, policy } of policies) {
    work += 0.6 + (algorithm.summarize === undefined ? (algorithm.counts?.(policy) ?? 0) / 10 : EXTERNAL_WORK);
  }
  return work;
}
