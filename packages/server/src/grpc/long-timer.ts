/** The longest that a timer of Node waits: with more it would not wait at all. */
const LONGEST_MS: number = 2 ** 31 - 1;

/**
 * Calls a function after a time of any length. Keeps no process alive.
 *
 * @returns A function that stops the timer.
 */
export function startTimer(ms: number, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (leftMs: number): void => {
    const next = leftMs > LONGEST_MS ? wait.bind(undefined, leftMs - LONGEST_MS) : act;
    timer = setTimeout(next, Math.min(leftMs, LONGEST_MS)).unref();
  };
  wait(ms);
  return () => {
    clearTimeout(timer);
  };
}
