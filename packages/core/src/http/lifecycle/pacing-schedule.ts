/** Longer timers overflow to 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface ScheduledCall {
  readonly dueMs: number;
  readonly run: () => void;
}

/** Ordered by `dueMs`, then by arrival. */
const scheduled: ScheduledCall[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Calls back at `dueMs` (by `performance.now()`), never earlier; immediately when that has passed. Calls run in the
 * order of `dueMs`, even when the event loop is late: separate timers would then run in the order of their durations.
 *
 * @returns Cancels the call.
 */
export function schedule(dueMs: number, run: () => void): () => void {
  const call = { dueMs, run };
  let index = scheduled.length;
  while (index > 0 && (scheduled[index - 1] as ScheduledCall).dueMs > dueMs) index--;
  scheduled.splice(index, 0, call);
  if (index === 0) runDue();
  return () => {
    const found = scheduled.indexOf(call);
    if (found === -1) return;
    scheduled.splice(found, 1);
    if (found === 0) runDue();
  };
}

/** Runs the calls that are due, and sets the timer for the next one. A timer can fire a millisecond early. */
function runDue(): void {
  clearTimeout(timer);
  for (;;) {
    const [first] = scheduled;
    if (first === undefined) return;
    const leftMs = first.dueMs - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(runDue, Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS));
      return;
    }
    scheduled.shift();
    first.run();
  }
}
