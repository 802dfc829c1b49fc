import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { BreakerMessage } from '@sluice/core';

/**
 * Logs when the store stops and starts again to decide.
 *
 * @returns A function that stops logging.
 */
export function logBreaker(limiter: string, log: (line: string) => void): () => void {
  const changed = (message: unknown): void => {
    const { limiters, state, store, shard, kind } = message as BreakerMessage;
    if (!limiters.includes(limiter)) return;
    const part = shard === undefined ? store : `${store} (${shard})`;
    if (state === 'open') log(`${part} does not decide (${kind}): memory does, until it answers again`);
    if (state === 'closed') log(`${part} decides again`);
  };
  subscribe('sluice:breaker', changed);
  return () => {
    unsubscribe('sluice:breaker', changed);
  };
}
