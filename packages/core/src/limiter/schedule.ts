import { detached, MAX_TIMER_MS } from '../platform.ts';

interface ScheduledCall {
  readonly dueMs: number;
  readonly run: () => void;
}

/** Ordered by `dueMs`, then by arrival. */
const scheduled: ScheduledCall[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
/** The fake timers of a finished test never fire. */
let timerIsOf: typeof setTimeout | undefined;

/**
 * Calls back at `dueMs` (by `performance.now()`), never earlier, and never before it has returned. Calls run in the
 * order of `dueMs`, even when the event loop is late: separate timers would then run in the order of their durations.
 * All of them share one timer, which keeps the process alive.
 *
 * @returns Cancels the call.
 */
export function schedule(dueMs: number, run: () => void): () => void {
  const call = { dueMs, run };
  const index = scheduled.findLastIndex((other) => other.dueMs <= dueMs) + 1;
  scheduled.splice(index, 0, call);
  if (index === 0 || timerIsOf !== setTimeout) startTimer();
  return () => {
    const found = scheduled.indexOf(call); // calls that were scheduled first are usually cancelled first
    if (found === -1) return;
    scheduled.splice(found, 1);
    if (found === 0) startTimer();
  };
}

/** Sets the timer for the next call. */
function startTimer(): void {
  if (timerIsOf === setTimeout) clearTimeout(timer);
  timerIsOf = setTimeout;
  const [first] = scheduled;
  if (first === undefined) return;
  const ms = Math.min(Math.max(Math.ceil(first.dueMs - performance.now()), 1), MAX_TIMER_MS);
  timer = detached(() => setTimeout(runDue, ms));
}

/** Runs the calls that are due. A timer can fire a millisecond early. */
function runDue(): void {
  for (let [first] = scheduled; first !== undefined && first.dueMs <= performance.now(); [first] = scheduled) {
    scheduled.shift();
    first.run();
  }
  startTimer();
}
