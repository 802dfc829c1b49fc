import type { AcquireOptions } from '../settlement/acquisition.ts';
import { checkCost } from '../../values/cost.ts';
import { optional, readOptions, valueThat, type OptionTable, type SettingsOf } from '../../values/option.ts';

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
export type WaitSettings = SettingsOf<WaitOptions, Pick<WaitOptions, 'signal'>>;

const WAIT_OPTIONS: OptionTable<WaitSettings> = {
  cost: (given = 1) => {
    checkCost(given);
    return given;
  },
  signal: optional(valueThat<AbortSignal>(isSignal, 'an AbortSignal, such as AbortSignal.timeout(1000)')),
  maxWaitMs: valueThat(
    (given) => typeof given === 'number' && given >= 0,
    'a number of milliseconds, 0 or more',
    Infinity,
  ),
  maxWaiters: valueThat(
    (given) => given === Infinity || (Number.isSafeInteger(given) && Number(given) >= 1),
    'a whole number, 1 or more',
    10_000,
  ),
};

/** @throws PolicyError `SLUICE_OPTION_UNKNOWN`, `SLUICE_OPTION_INVALID`; as {@link checkCost} does. */
export function readWaitOptions(options: WaitOptions, where: 'wait' | 'run'): WaitSettings {
  if (where === 'wait') return readOptions(options, WAIT_OPTIONS, where);
  return readOptions(options, { ...WAIT_OPTIONS, holder: (given: unknown) => given }, where);
}

function isSignal(given: unknown): boolean {
  return typeof given === 'object' && given !== null && 'aborted' in given && 'addEventListener' in given;
}
