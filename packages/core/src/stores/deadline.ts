import { StoreError } from '../errors.ts';
import type { StoreAnswers, StoreCall } from './store.ts';

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
