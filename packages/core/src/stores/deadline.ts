import { PolicyError, StoreError, shown } from '../errors.ts';
import type { StoreCall } from './store.ts';

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

/** A timer that fires so much too late was held up by this process itself. */
const LATE_MS = 10;
/** What a store has then, to answer what may only just have been sent. */
const GRACE_MS = 40;

/**
 * Waits for a store no longer than `timeoutMs`. What comes later is ignored: it may have counted, so nothing is sent
 * again.
 *
 * A process that was busy itself does not blame the store: when the time is up, what has arrived by then is read first,
 * and when the timer itself came late, as it does after such a stall, the store gets up to 40 ms more.
 *
 * Rejects with StoreError: `SLUICE_STORE_TIMEOUT`, or what the store failed with.
 *
 * @param isAwaited - Whether somebody waits for it, so that the process is to live until it is answered.
 */
export function withinDeadline<Answer>(
  answers: Promise<Answer>,
  timeoutMs: number,
  call: StoreCall,
  isAwaited = true,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    let timer: NodeJS.Timeout;
    let lastLook: NodeJS.Immediate | undefined;
    const wait = (ms: number, then: () => void): void => {
      timer = setTimeout(then, ms);
      if (!isAwaited) timer.unref();
    };
    // Timers come before sockets in a turn of the event loop, immediates after them.
    const look = (): void => {
      lastLook = setImmediate(expire);
    };
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
    wait(timeoutMs, () => {
      if (performance.now() - startMs - timeoutMs > LATE_MS) wait(Math.min(timeoutMs, GRACE_MS), look);
      else look();
    });
    const settle = (): void => {
      clearTimeout(timer);
      if (lastLook !== undefined) clearImmediate(lastLook);
      resolve(answers);
    };
    answers.then(settle, settle);
  });
}
