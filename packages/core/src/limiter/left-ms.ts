/**
 * The rest of the time that a decision may take.
 *
 * @param endMs - When the decision is late, by `performance.now()`. Undefined: in `timeoutMs`.
 */
export function leftMs(timeoutMs: number, endMs?: number): number {
  return endMs === undefined ? timeoutMs : Math.ceil(endMs - performance.now());
}
