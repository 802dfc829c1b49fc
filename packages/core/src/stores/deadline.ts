import { PolicyError, StoreError, shown } from '../errors.ts';
import type { StoreAnswers, StoreCall } from './store.ts';

/** Longer timers overflow to 1 ms. */
export const LONGEST_TIMEOUT_MS: number = 2 ** 31 - 1;

/** @throws PolicyError `SLUICE_OPTION_INVALID` for what is no time that a timer can wait. */
export function checkTimeout(timeoutMs: unknown): void {
  if (Number.isInteger(timeoutMs) && Number(timeoutMs) >= 1 && Number(timeoutMs) <= LONGEST_TIMEOUT_MS) return;
  throw new PolicyError(
    'timeoutMs',
    `timeoutMs must be a whole number of milliseconds, from 1 to ${String(LONGEST_TIMEOUT_MS)}, got ${shown(timeoutMs)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/**
 * Waits for a store no longer than `timeoutMs`. What comes later is ignored: it may have counted, so nothing is sent
 * again.
 *
 * When the time is up, what has arrived by then is read first: a process that was busy itself for that long does not
 * blame the store.
 *
 * Rejects with StoreError: `SLUICE_STORE_TIMEOUT`, or what the store failed with.
 */
export function withinDeadline(
  answers: Promise<StoreAnswers>,
  timeoutMs: number,
  call: StoreCall,
): Promise<StoreAnswers> {
  return new Promise((resolve, reject) => {
    let lastLook: NodeJS.Immediate | undefined;
    const expire = (): void => {
      call.abandoned = true;
      call.onAbandoned?.();
      reject(
        new StoreError(
          'SLUICE_STORE_TIMEOUT',
          `the store did not decide within ${String(timeoutMs)} ms (timeoutMs); the request may have counted`,
        ),
      );
    };
    // Timers come before sockets in a turn of the event loop, immediates after them.
    const timer = setTimeout(() => (lastLook = setImmediate(expire)), timeoutMs).unref();
    const settle = (): void => {
      clearTimeout(timer);
      if (lastLook !== undefined) clearImmediate(lastLook);
    };
    answers.then(
      (answered) => {
        settle();
        resolve(answered);
      },
      () => {
        settle();
        resolve(answers); // which rejects
      },
    );
  });
}
