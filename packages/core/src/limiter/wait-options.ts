import { checkCost } from '../values/cost.ts';
import { optional, valueThat, withDefault } from '../values/shape.ts';
import type { Optional, Options, Reader, Settings, WithDefault } from '../values/shape.ts';

const readCost: Reader<number> = (given) => {
  checkCost(given);
  return given;
};

export const WAIT = {
  /** Units: a whole number. Default 1. */
  cost: withDefault(readCost, 1) as WithDefault<number>,
  /** Ends the wait when it aborts: the promise rejects with its reason, and nothing stays taken. */
  signal: optional(
    valueThat(
      (given) => typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given,
      'an AbortSignal, such as AbortSignal.timeout(1000)',
    ),
  ) as Optional<AbortSignal>,
  /**
   * The longest wait in milliseconds, the decision's `delayMs` included. With 0 the store is asked once, if nothing else
   * waits. Default: without end.
   */
  maxWaitMs: withDefault(
    valueThat((given) => typeof given === 'number' && given >= 0, 'a number of milliseconds, 0 or more'),
    Infinity,
  ) as WithDefault<number>,
  /** How many may wait for one key in this process, this call included. Default 10 000. */
  maxWaiters: withDefault(
    valueThat(
      (given) => given === Infinity || (Number.isSafeInteger(given) && Number(given) >= 1),
      'a whole number, 1 or more',
    ),
    10_000,
  ) as WithDefault<number>,
};

export interface WaitOptions extends Options<typeof WAIT> {}
export type WaitSettings = Settings<typeof WAIT>;
