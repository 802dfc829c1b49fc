import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { UsageError } from './failure.ts';
import { insteadOf } from './nearest.ts';

interface PolicyKind {
  /** Checks the options, whatever they are. */
  readonly make: (options: never) => Policy;
  /** The options that it takes, but for its name. */
  readonly options: readonly string[];
}

/** Every kind of policy, under the name of the function that makes it. A new kind is a line here. */
export const policyKinds: Readonly<Record<string, PolicyKind>> = {
  fixedWindow: { make: fixedWindow, options: ['limit', 'window', 'align'] },
  slidingWindow: { make: slidingWindow, options: ['limit', 'window', 'precision'] },
  slidingCounter: { make: slidingCounter, options: ['limit', 'window'] },
  slidingLog: { make: slidingLog, options: ['limit', 'window'] },
  concurrency: { make: concurrency, options: ['limit', 'ttl'] },
  tokenBucket: { make: tokenBucket, options: ['capacity', 'refill', 'every', 'mode', 'overdraft'] },
  leakyBucket: { make: leakyBucket, options: ['limit', 'window', 'maxDelay'] },
};

/** What the options of policies take, and say. */
export const policyOptions: Readonly<Record<string, readonly [takes: string, says: string]>> = {
  limit: ['units', 'units per window'],
  window: ['duration', 'length of the window, such as 500ms, 10s, 5m, 1h or 1d'],
  ttl: ['duration', 'when the slot of a holder that has crashed frees itself'],
  align: ['where', 'where windows begin: first-hit (default) or clock'],
  precision: ['duration', 'length of the blocks that are counted (default: a tenth of the window)'],
  capacity: ['units', 'units that the bucket holds'],
  refill: ['units', 'units that come back every --every'],
  every: ['duration', 'how often --refill units come back'],
  mode: ['how', 'continuous (default), or interval: all --refill units at once'],
  overdraft: ['units', 'units that the bucket may go below zero (default 0)'],
  maxDelay: ['duration', 'the longest that a unit may wait for its start; 0: nobody waits'],
};

/**
 * A policy of this kind.
 *
 * @throws UsageError for a kind that does not exist; what the function of the kind throws.
 */
export function policyOf(kind: string, options: Readonly<Record<string, unknown>>): Policy {
  if (!Object.hasOwn(policyKinds, kind)) {
    throw new UsageError(`there is no policy ${JSON.stringify(kind)}; ${insteadOf(kind, Object.keys(policyKinds))}`);
  }
  return (policyKinds[kind] as PolicyKind).make(options as never);
}
