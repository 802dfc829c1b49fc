import { detached, MAX_TIMER_MS } from '../platform.ts';

interface ScheduledCall {
  readonly dueMs: number;
  readonly run: () => void;
}

/** Ordered by `dueMs`, then by arrival. */
const scheduled: ScheduledCall[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
/** Fake timers of a test that has ended never fire. */
let timerIsOf: typeof setTimeout | undefined;

/**
 * Calls back at `dueMs` (by `performance.now()`), never earlier; immediately when that has passed. Calls run in the
 * order of `dueMs`, even when the event loop is late: separate timers would then run in the order of their durations.
 * All of them share one timer, which keeps the process alive.
 *
 * @returns Cancels the call.
 */
export function schedule(dueMs: number, run: () => void): () => void {
  const call = { dueMs, run };
  const index = search((other) => other.dueMs > dueMs);
  scheduled.splice(index, 0, call);
  if (index === 0 || timerIsOf !== setTimeout) runDue();
  return () => {
    // From the first one of its instant on: calls that were scheduled first are usually cancelled first.
    const found = scheduled.indexOf(
      call,
      search((other) => other.dueMs >= dueMs),
    );
    if (found === -1) return;
    scheduled.splice(found, 1);
    if (found === 0) runDue();
  };
}

/** The index of the first call for which `isAfter` holds: it holds for all calls after that one. */
function search(isAfter: (call: ScheduledCall) => boolean): number {
  let from = 0;
  let to = scheduled.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isAfter(scheduled[middle] as ScheduledCall)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Runs the calls that are due, and sets the timer for the next one. A timer can fire a millisecond early. */
function runDue(): void {
  if (timerIsOf === setTimeout) clearTimeout(timer);
  timerIsOf = setTimeout;
  for (;;) {
    const [first] = scheduled;
    if (first === undefined) return;
    const leftMs = first.dueMs - performance.now();
    if (leftMs > 0) {
      timer = detached(() => setTimeout(runDue, Math.min(Math.ceil(leftMs), MAX_TIMER_MS)));
      return;
    }
    scheduled.shift();
    first.run();
  }
}
