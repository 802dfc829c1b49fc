import type { AcquireOptions } from '../settlement/acquisition.ts';
import { checkCost } from '../../values/cost.ts';
import { invalidOption } from '../../values/check-options.ts';
import { readOptions, type OptionTable } from '../../values/option.ts';

export interface WaitOptions {
  /** Units: a whole number. Default 1. */
  cost?: number | undefined;
  /** Ends the wait when it aborts: the promise rejects with its reason, and nothing stays taken. */
  signal?: AbortSignal | undefined;
  /**
   * The longest wait in milliseconds, the decision's `delayMs` included. With 0 the store is asked once, if no one else
   * waits. Default: without end.
   */
  maxWaitMs?: number | undefined;
  /** How many may wait for one key in this process, this call included. Default 10 000. */
  maxWaiters?: number | undefined;
}

/** Where the limiter holds slots, `holder` names who holds them: see {@link AcquireOptions}. */
export interface RunOptions extends WaitOptions, Pick<AcquireOptions, 'holder'> {}

/** The options of a wait, checked. */
export interface WaitSettings {
  readonly cost: number;
  readonly signal: AbortSignal | undefined;
  readonly maxWaitMs: number;
  readonly maxWaiters: number;
}

const MOST_WAITERS = 10_000;

const WAIT_OPTIONS: OptionTable<WaitSettings> = {
  cost: (given = 1) => {
    checkCost(given);
    return given;
  },
  signal: (given) => {
    if (given === undefined || isSignal(given)) return given;
    throw invalidOption('signal', 'an AbortSignal, such as AbortSignal.timeout(1000)', given);
  },
  maxWaitMs: (given = Infinity) => {
    if (typeof given === 'number' && given >= 0) return given;
    throw invalidOption('maxWaitMs', 'a number of milliseconds, 0 or more', given);
  },
  maxWaiters: (given = MOST_WAITERS) => {
    if (typeof given === 'number' && given >= 1 && (Number.isSafeInteger(given) || given === Infinity)) return given;
    throw invalidOption('maxWaiters', 'a whole number, 1 or more', given);
  },
};

/** @throws PolicyError `SLUICE_OPTION_UNKNOWN`, `SLUICE_OPTION_INVALID`; as {@link checkCost} does. */
export function readWaitOptions(options: WaitOptions, where: 'wait' | 'run'): WaitSettings {
  if (where === 'wait') return readOptions(options, WAIT_OPTIONS, where);
  return readOptions(options, { ...WAIT_OPTIONS, holder: (given: unknown) => given }, where);
}

function isSignal(given: unknown): given is AbortSignal {
  return typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given;
}
