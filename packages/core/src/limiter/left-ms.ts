import type { LimiterDeps } from './deps.ts';

/**
 * The rest of the time that a decision may take. It does not end before `timeoutMs` from the end of the store's first
 * attempt to connect.
 *
 * @param endMs - When the decision is late, by `performance.now()`. Undefined: in `timeoutMs`.
 */
export function leftMs({ store, timeoutMs }: Pick<LimiterDeps, 'store' | 'timeoutMs'>, endMs?: number): number {
  if (endMs === undefined) return timeoutMs;
  const lateAtMs = Math.max(endMs, (store.connectedAtMs ?? -Infinity) + timeoutMs);
  return Math.ceil(lateAtMs - performance.now());
}
