import { afterEach, beforeEach } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { BreakerMessage, DecisionMessage, StoreErrorMessage } from '@sluice/old-core';

/** What has been published since the test began, in order. */
export interface Published {
  readonly decisions: readonly DecisionMessage[];
  readonly storeErrors: readonly StoreErrorMessage[];
  readonly breakers: readonly BreakerMessage[];
}

/**
 * Listens on all channels while a test of this file runs.
 *
 * @param isOurs - Whether a limiter is one of this file. Files that ran in this process before may have left breakers
 * open, whose probes go on.
 */
export function useChannels(isOurs: (limiter: string) => boolean): Published {
  const published = {
    decisions: [] as DecisionMessage[],
    storeErrors: [] as StoreErrorMessage[],
    breakers: [] as BreakerMessage[],
  };
  const { decisions, storeErrors, breakers } = published;
  const listeners = {
    'sluice:decision': (message: unknown) => void decisions.push(message as DecisionMessage),
    'sluice:store.error': (message: unknown) => void storeErrors.push(message as StoreErrorMessage),
    'sluice:breaker': (message: unknown) => {
      if ((message as BreakerMessage).limiters.some(isOurs)) breakers.push(message as BreakerMessage);
    },
  };
  beforeEach(() => {
    for (const messages of Object.values(published)) messages.length = 0;
    for (const [channel, listener] of Object.entries(listeners)) subscribe(channel, listener);
  });
  afterEach(() => {
    for (const [channel, listener] of Object.entries(listeners)) unsubscribe(channel, listener);
  });
  return published;
}
