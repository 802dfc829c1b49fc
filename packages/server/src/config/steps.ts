/** Work in small steps: between two of them, other work can have its turn. */
export type Steps<T> = Generator<undefined, T>;

/** How long steps are done without a pause, in milliseconds. */
const TURN_MS = 5;

/** Does all steps at once. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does steps in turns of some milliseconds, between which what else waits in this process is done. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const untilMs = performance.now() + TURN_MS;
    do {
      const { done, value } = steps.next();
      if (done === true) return value;
    } while (performance.now() < untilMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
