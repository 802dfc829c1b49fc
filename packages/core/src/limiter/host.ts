import type { Decision } from '../decision.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import type { PolicyAsk, Want } from './limits.ts';
import type { OnStoreError, OnUnconfigured } from './options.ts';

/** `try` is a `take` whose denial starts no block. */
export type DecidingOp = 'take' | 'peek' | 'try';

/** How a request is decided, beside what it wants. */
export interface DecideOptions {
  /** When the decision is late, by `performance.now()`. Default: in `timeoutMs`. */
  readonly endMs?: number | undefined;
  /** Decides if the store does not. Default: as the limiter's own option says. */
  readonly onStoreError?: OnStoreError | undefined;
  /** Whether the caller publishes the decision itself. */
  readonly isSilent?: boolean;
}

/** Slots that a decision holds. Both functions also work after the limiter was closed. */
export interface HeldSlots {
  /** How soon the first of them expire without a renewal. */
  readonly ttlMs: number;
  /**
   * Makes them expire a `ttl` from now. Returns whether all of them were still held; without a call once they were
   * released, or a `ttl` has passed.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  renew(): Promise<boolean>;
  /** Releases them, once. If the store fails, it is told later, or they expire. */
  release(): Promise<void>;
}

/** What settling, slots and waiting need of their limiter. */
export interface LimiterHost {
  readonly name: string;
  readonly store: Store;
  readonly onStoreError: OnStoreError;
  readonly onUnconfigured: OnUnconfigured;
  /** The memory that decides while the store is not available; none for memory. */
  readonly fallback: Store | undefined;
  readonly isClosed: boolean;
  readonly slots: { heldBy(decision: Decision): HeldSlots | undefined };
  /** @throws SluiceError `SLUICE_LIMITER_CLOSED`. */
  checkOpen(): void;
  decide(op: DecidingOp, wants: readonly Want[], options?: DecideOptions): Decision | Promise<Decision>;
  publish(op: DecidingOp, decision: Decision, startMs: number): void;
  readCurrent(wants: readonly Want[]): Promise<readonly Want[]>;
  asksFor(wants: readonly Want[], isLocal: boolean): readonly PolicyAsk[];
  send(op: Op, asks: readonly Ask[]): Promise<Answer>;
  keep(op: Op, asks: readonly Ask[]): void;
  /** Asks again for what waits for these keys. */
  changed(asks: readonly Ask[]): void;
  track<T>(work: Promise<T>): Promise<T>;
}
