/** Longer timers overflow to 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Start {
  readonly dueMs: number;
  readonly go: () => void;
}

/** By when they are due, who was here first first. */
const starts: Start[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Calls back at `dueMs` (by `performance.now()`), and not a moment earlier: at once when it is over. In the order of these
 * instants, however late the event loop comes to it: timers of their own would run in the order of their lengths then.
 *
 * @returns What calls it off.
 */
export function startAt(dueMs: number, go: () => void): () => void {
  const start = { dueMs, go };
  let at = starts.length;
  while (at > 0 && (starts[at - 1] as Start).dueMs > dueMs) at--;
  starts.splice(at, 0, start);
  if (at === 0) look();
  return () => {
    const place = starts.indexOf(start);
    if (place === -1) return;
    starts.splice(place, 1);
    if (place === 0) look();
  };
}

/** Starts those that are due, and has the next one looked at in time: timers fire a millisecond early at times. */
function look(): void {
  clearTimeout(timer);
  for (;;) {
    const [first] = starts;
    if (first === undefined) return;
    const leftMs = first.dueMs - performance.now();
    if (leftMs > 0) {
      timer = setTimeout(look, Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS));
      return;
    }
    starts.shift();
    first.go();
  }
}
