import type { Store } from '../engine/store.ts';
import { isFault } from '../errors.ts';
import { timerMs } from '../values/option.ts';
import { probe } from './probe.ts';

/** How long to wait between two attempts. */
const RETRY_MS = 50;

/**
 * Resolves when a store can decide; tries again until then.
 *
 * @param hasClosed - Whether the store was closed meanwhile, which ends the attempts.
 * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for a bad timeout; the last StoreError.
 */
export async function untilReady(store: Store, timeoutMs: number, hasClosed: () => boolean): Promise<void> {
  timerMs()(timeoutMs, 'timeoutMs');
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      await probe(store, 'probe', Math.max(Math.ceil(endMs - performance.now()), 1), true);
      return;
    } catch (error) {
      if (performance.now() + RETRY_MS >= endMs || hasClosed() || isFault(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      if (hasClosed()) throw error;
    }
  }
}
