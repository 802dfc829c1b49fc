import { StoreError } from '../errors.ts';
import type { StoreCall } from '../engine/store.ts';
import { DeadlineTimer } from './deadline-timer.ts';

/** A timer that fires later than this shows that the process itself was stalled. */
const LATE_MS = 10;
/** The extra time of a store after such a stall, because the request may only just have been sent. */
const GRACE_MS = 40;

/**
 * Waits for a store no longer than `timeoutMs`; then `DecisionPipeline.fallback` applies `onStoreError`. A later answer
 * is ignored. Nothing is sent again, because the request may have counted.
 *
 * A stall of this process is not held against the store: when the time has passed, everything that has arrived is read
 * first, and when the timer itself was late, the store gets up to 40 ms more. Sending that takes long in the same tick is
 * such a stall too, because the timer is armed after it: a store that hangs gets those 40 ms on top. The time of a store
 * that connects for the first time begins when it has connected.
 */
export class Deadline {
  readonly #timeoutMs: number;
  #startMs = 0;
  readonly #call: StoreCall;
  readonly #isAwaited: boolean;
  readonly #late: (error: StoreError) => void;
  #timer: DeadlineTimer | undefined;
  /** The timer of a caller that does not wait, and of the extra time. */
  #other: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /**
   * @param late - Receives `SLUICE_STORE_TIMEOUT` when the time has passed: the call is abandoned then.
   * @param isAwaited - Whether the timer keeps the process alive, because a caller waits.
   */
  constructor(timeoutMs: number, call: StoreCall, late: (error: StoreError) => void, isAwaited = true) {
    this.#timeoutMs = timeoutMs;
    this.#call = call;
    this.#late = late;
    this.#isAwaited = isAwaited;
    if (call.connecting === undefined) this.#start(call.sentMs ?? performance.now());
    else {
      void call.connecting.then(() => {
        this.#start(performance.now());
      });
    }
  }

  #start(startMs: number): void {
    if (this.#hasEnded) return;
    this.#startMs = startMs;
    if (this.#isAwaited) this.#timer = DeadlineTimer.start(this.#timeoutMs, this);
    else this.#other = setTimeout(due, this.#timeoutMs, this).unref();
  }

  /** Called when the store has answered or failed. Returns whether that was in time. */
  met(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#timer?.stop();
    clearTimeout(this.#other);
    return true;
  }

  /** Called once everything that has arrived is read. */
  end(): void {
    if (!this.met()) return;
    this.#call.abandoned = true;
    this.#call.onAbandoned?.();
    this.#late(timeoutError(this.#timeoutMs));
  }

  /** Called by the timer. */
  due(): void {
    if (performance.now() - this.#startMs - this.#timeoutMs <= LATE_MS) {
      endAfterReads(this);
      return;
    }
    this.#other = setTimeout(endAfterReads, Math.min(this.#timeoutMs, GRACE_MS), this);
    if (!this.#isAwaited) this.#other.unref();
  }
}

export function timeoutError(timeoutMs: number): StoreError {
  return new StoreError(
    'SLUICE_STORE_TIMEOUT',
    `the store did not decide within ${String(timeoutMs)} ms (timeoutMs); the request may have counted`,
  );
}

function due(deadline: Deadline): void {
  deadline.due();
}

/** In a turn of the event loop timers run before sockets, and immediates after them. */
function endAfterReads(deadline: Deadline): void {
  setImmediate(() => {
    deadline.end();
  });
}

/**
 * The answer of a store, if it is in time: see {@link Deadline}.
 *
 * Rejects with StoreError: `SLUICE_STORE_TIMEOUT`, or the store's own failure.
 */
export function withinDeadline<Answer>(
  answers: Promise<Answer>,
  timeoutMs: number,
  call: StoreCall = { abandoned: false },
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
