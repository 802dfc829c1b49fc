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
 */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #startMs = performance.now();
  readonly #call: StoreCall;
  readonly #isAwaited: boolean;
  readonly #late: (error: StoreError) => void;
  #timer: NodeJS.Timeout;
  #isOver = false;

  /**
   * @param late - Told `SLUICE_STORE_TIMEOUT` when the time is up: the call is abandoned then.
   * @param isAwaited - Whether somebody waits for it, so that the process is to live until it is answered.
   */
  constructor(timeoutMs: number, call: StoreCall, late: (error: StoreError) => void, isAwaited = true) {
    this.#timeoutMs = timeoutMs;
    this.#call = call;
    this.#late = late;
    this.#isAwaited = isAwaited;
    this.#timer = this.#wait(timeoutMs, due);
  }

  /** The store has answered, or failed. Answers whether that was in time. */
  met(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    return true;
  }

  /** The timer has come. */
  due(): void {
    if (performance.now() - this.#startMs - this.#timeoutMs <= LATE_MS) look(this);
    else this.#timer = this.#wait(Math.min(this.#timeoutMs, GRACE_MS), look);
  }

  /** Whatever has arrived has been read. */
  end(): void {
    if (!this.met()) return;
    this.#call.abandoned = true;
    this.#call.onAbandoned?.();
    this.#late(
      new StoreError(
        'SLUICE_STORE_TIMEOUT',
        `the store did not decide within ${String(this.#timeoutMs)} ms (timeoutMs); the request may have counted`,
      ),
    );
  }

  #wait(ms: number, then: (deadline: Deadline) => void): NodeJS.Timeout {
    const timer = setTimeout(then, ms, this);
    return this.#isAwaited ? timer : timer.unref();
  }
}

function due(deadline: Deadline): void {
  deadline.due();
}

/** Timers come before sockets in a turn of the event loop, immediates after them. */
function look(deadline: Deadline): void {
  setImmediate(() => {
    deadline.end();
  });
}

/**
 * What a store answers, if it does so in time: see {@link Deadline}.
 *
 * Rejects with StoreError: `SLUICE_STORE_TIMEOUT`, or what the store failed with.
 */
export function withinDeadline<Answer>(
  answers: Promise<Answer>,
  timeoutMs: number,
  call: StoreCall,
  isAwaited = true,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const deadline = new Deadline(timeoutMs, call, reject, isAwaited);
    const settle = (): void => {
      if (deadline.met()) resolve(answers);
    };
    answers.then(settle, settle);
  });
}
