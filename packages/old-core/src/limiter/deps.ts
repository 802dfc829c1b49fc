import type { SluiceError } from '../errors.ts';
import type { Fast } from '../engine/fast.ts';
import type { Store } from '../engine/store.ts';
import type { StoreGuard } from '../guard/store-guard.ts';
import type { FallbackStore } from '../stores/fallback.ts';
import type { InFlight } from './in-flight.ts';
import type { Settlements } from './settlement/settlements.ts';

/** The objects that the parts of one limiter share. */
export interface LimiterDeps {
  readonly name: string;
  readonly store: Store;
  readonly timeoutMs: number;
  /** Undefined where the store is this process's memory, which is never late. */
  readonly guard: StoreGuard | undefined;
  /** The store's faster way to decide; undefined where it has none. */
  readonly fast: Fast | undefined;
  /** Decides where `onStoreError` is `local`. Undefined where the store is this process's memory. */
  readonly fallback: FallbackStore | undefined;
  readonly settlements: Settlements;
  readonly inFlight: InFlight;
  /** Called when an edit of this process may have made more available to a subject. */
  readonly changed: (subject: string) => void;
  /**
   * Publishes a failed call.
   *
   * @param isDecision - Whether a caller was rejected, although the open breaker let no call through.
   */
  readonly reportFailure: (error: unknown, isDecision?: boolean) => SluiceError;
}
