import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { BreakerMessage, RedisStore, Store } from '@sluice/core';

/** How long Redis may take for its first answer before operators are notified. */
const FIRST_ANSWER_MS = 2_000;
const CHANNEL = 'sluice:breaker';

/**
 * Logs when the store does not decide at the start, when it stops deciding, and when it decides again.
 *
 * @param limiter - The name of the limiter that counts in the store.
 * @returns A function that stops logging.
 */
export function logStore(store: Store, limiter: string, log: (line: string) => void): () => void {
  let isWatched = true;
  const changed = (message: unknown): void => {
    const { limiters, state, previous, kind } = message as BreakerMessage;
    if (!limiters.includes(limiter)) return;
    if (state === 'open' && previous === 'closed')
      log(`${store.source} does not decide (${kind}): memory does, until it answers`);
    if (state === 'closed') log(`${store.source} decides again`);
  };
  if (store.source === 'redis') {
    (store as RedisStore).ready(FIRST_ANSWER_MS).catch((error: unknown) => {
      if (isWatched) log(`redis does not decide yet (${(error as Error).message}): memory does, until it answers`);
    });
  }
  subscribe(CHANNEL, changed);
  return () => {
    isWatched = false;
    unsubscribe(CHANNEL, changed);
  };
}
