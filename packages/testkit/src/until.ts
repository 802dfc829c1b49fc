import { setTimeout as sleep } from 'node:timers/promises';

/** Below Jest's timeout for a test, so that the error says what was awaited. */
const DEADLINE_MS = 60_000;

/**
 * Waits until the probe returns a value other than false or undefined, and resolves to it. An error counts as not yet.
 *
 * @param what - Completes "waited in vain: ", for the error after `deadlineMs`.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs: number = DEADLINE_MS,
): Promise<Exclude<T, false | undefined>> {
  const startedAt = performance.now();
  let trouble: unknown;
  for (;;) {
    try {
      const result = await probe();
      if (result !== false && result !== undefined) return result as Exclude<T, false | undefined>;
    } catch (error) {
      trouble = error;
    }
    if (performance.now() - startedAt > deadlineMs) throw new Error(`waited in vain: ${what}`, { cause: trouble });
    await sleep(20);
  }
}
