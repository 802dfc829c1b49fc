import type { Decision } from './decision.ts';
import type { DecidingRequest, Limit, Part, Store, StoreAnswers } from './store.ts';

/**
 * What decides when the store does not: a memory store of this process (`local`), a fixed outcome (`allow`,
 * `deny`), or the caller, which gets the error (`throw`).
 */
export type OnStoreError = 'local' | 'allow' | 'deny' | 'throw';

/**
 * What a store brings to a limiter that decides faster than a call of `perform` for each request. It decides what `perform`
 * would decide.
 */
export interface Fast {
  /**
   * Consumes units of one key, of a limit that is `fastPathEligible`; the cost is at least 1. Takes the key and the cost by
   * themselves, not as a part: on memory, one more object costs a tenth of the decision.
   *
   * @param endMs - When the decision is late, by `performance.now()`. Default: in `timeoutMs`.
   * @returns Undefined where `perform` has to decide: nothing has happened then.
   */
  consume(
    limit: Limit,
    subject: string,
    cost: number,
    onStoreError: OnStoreError,
    endMs: number | undefined,
  ): Decision | Promise<Decision> | undefined;
  /** Any other request: as `perform`, within a time, and with others of the same turn of the event loop. */
  decide?(request: DecidingRequest, timeoutMs: number): StoreAnswers | Promise<StoreAnswers>;
}

/** What can be settled of a decision later. */
export interface DecisionReceipts {
  writeLazily(decision: Decision, limit: Limit, subject: string): void;
}

/** The limiter, as what a store brings sees it. */
export interface FastHost {
  readonly name: string;
  readonly timeoutMs: number;
  /** The option of the limiter; undefined if it is off. */
  readonly denialCache: { readonly maxKeys: number } | undefined;
  /** Receives each decision before its caller does. */
  readonly receipts: DecisionReceipts;
  /** Decides as `onStoreError` states, after the store failed or was late. */
  fallback(part: Part, error: unknown, onStoreError: OnStoreError): Decision | Promise<Decision>;
  /** Counts the decisions that are pending: the limiter waits for them before it closes. */
  readonly inFlight: { begin(): void; end(): void };
  /** Receives work that continues without a caller. It never rejects. */
  inBackground(work: Promise<unknown>): void;
  reportFailure(error: unknown): void;
}

/** A store that brings a {@link Fast} to each of its limiters. */
export interface FastStore extends Store {
  /** Undefined for an object that only has the store as its prototype: its own `perform` decides. */
  fast(host: FastHost): Fast | undefined;
}

export function bringsFast(store: Store): store is FastStore {
  return typeof (store as Partial<FastStore>).fast === 'function';
}
