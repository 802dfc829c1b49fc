import type { KeyState } from './evaluate.ts';
import type { Limit, Store, StoreCall } from './store.ts';

/** Requests for one key of a plain limit, in order, each whole or not at all. */
export interface KeyRuns {
  readonly limit: Limit;
  /** Encoded: see `encodeSubject`. */
  readonly subject: string;
  /** A cost, how many requests of it follow each other, the next cost, and so on. Undefined: a single request of cost 1. */
  readonly runs: readonly number[] | undefined;
}

/** What a store found, from which the kernels say what became of the requests: they have been decided, and what was admitted is taken. */
export interface RunsAnswer {
  /** The store's clock when it decided, whole milliseconds. */
  readonly atMs: number;
  /** Per key its state before, or why it could not be read. */
  readonly keys: readonly (KeyState | Error)[];
}

/** A store that decides many keys in one call. */
export interface RunStore extends Store {
  /** Set where decisions are not to wait for each other, or equal requests not to be counted together. */
  readonly batching?: boolean;
  readonly coalescing?: boolean;
  /** @param keys - No two are the same key; of plain limits; where `oneSubjectPerCall` says so, only one. None any more of a call that has been abandoned. */
  performRuns(keys: readonly KeyRuns[], call?: StoreCall): Promise<RunsAnswer>;
}

export function performsRuns(store: Store): store is RunStore {
  return typeof (store as Partial<RunStore>).performRuns === 'function';
}

/** Above these a call would keep the store from its other clients for too long: about a millisecond. */
export const MOST_KEYS = 256;
export const MOST_BYTES = 65_536;

/** What a key of a limit is worth of {@link MOST_KEYS}: 1 for a single policy of one count. */
export function workOf({ policies }: Limit): number {
  let work = 0.4;
  for (const { algorithm, policy } of policies) work += 0.6 + (algorithm.counts?.(policy) ?? 0) / 10;
  return work;
}
