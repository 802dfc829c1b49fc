import type { Decision } from '../decision.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import type { Limit, Want } from './limits.ts';
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

/** The argument of a function that {@link Limiter.run} calls. */
export interface Running {
  /** The decision that allowed it. */
  readonly decision: Decision;
  /** Aborts when the caller's signal does, and when the slot is lost. */
  readonly signal: AbortSignal;
}

/** What settling, slots and waiting need of their limiter. */
export interface LimiterHost {
  nameInTimeline(limit: Limit): string;
  readonly name: string;
  readonly store: Store;
  readonly onStoreError: OnStoreError;
  readonly onUnconfigured: OnUnconfigured;
  readonly fallback: Store | undefined;
  checkOpen(): void;
  decide(op: DecidingOp, wants: readonly Want[], options?: DecideOptions): Decision | Promise<Decision>;
  publish(op: DecidingOp, decision: Decision, startMs: number): void;
  readCurrent(wants: readonly Want[]): Promise<readonly Want[]>;
  send(op: Op, asks: readonly Ask[], isLocal?: boolean, endMs?: number): Promise<Answer>;
  keep(op: Op, asks: readonly Ask[]): void;
  track<T>(work: Promise<T>): Promise<T>;
}
