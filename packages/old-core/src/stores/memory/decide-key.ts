import type { CoalescedRequests } from '../../engine/batch-store.ts';
import { consumeKey, fittingUnits } from '../../engine/consume-state.ts';
import { paces } from '../../engine/limit-source.ts';
import type { KeyState, Part } from '../../engine/store.ts';
import type { Entry } from './entry.ts';
import type { Keys } from './keys.ts';

const SINGLE: readonly number[] = [1, 1];

/**
 * Decides requests for one key of a limit that is `fastPathEligible`, in order, as lua/batch.lua does.
 *
 * @returns The key as it was before.
 */
export function decideKey(keys: Keys, { limit, subject, runs = SINGLE }: CoalescedRequests, nowMs: number): KeyState {
  const entry = keys.find({ limit, subject, cost: 0 }, [], nowMs);
  const { blockedUntilMs, states } = entry;
  let isChanged = false;
  let retryAfterMs = 0;
  for (let i = 0; i + 1 < runs.length; i += 2) {
    const run = consumeRun({ limit, subject, cost: runs[i] as number }, runs[i + 1] as number, entry, nowMs);
    isChanged ||= run.isChanged;
    retryAfterMs = Math.max(retryAfterMs, run.retryAfterMs);
  }
  if (isChanged) keys.keep(entry, limit, nowMs);
  if (retryAfterMs > 0) keys.recordDenial(entry, retryAfterMs, nowMs);
  keys.pack(entry, limit);
  keys.trim(nowMs);
  return { blockedUntilMs, states };
}

/** Equal requests for a key, one after the other: after one denial they are all denied. */
function consumeRun(
  part: Part,
  count: number,
  entry: Entry,
  nowMs: number,
): { readonly isChanged: boolean; readonly retryAfterMs: number } {
  let left = count;
  const together = left > 1 ? fittingTogether(part, left, entry, nowMs) : 0;
  if (together > 1 && consumeKey({ ...part, cost: part.cost * together }, entry, nowMs, 'memory').allowed)
    left -= together;
  while (left > 0) {
    const { allowed, retryAfterMs } = consumeKey(part, entry, nowMs, 'memory');
    if (!allowed) return { isChanged: left < count, retryAfterMs: retryAfterMs ?? 0 };
    left--;
  }
  return { isChanged: true, retryAfterMs: 0 };
}

/** How many requests change the key as one request of their sum does. */
function fittingTogether({ limit, cost }: Part, count: number, entry: Entry, nowMs: number): number {
  if (paces(limit)) return 0; // each waits for the one before it
  const units = Math.min(cost * count, Number.MAX_SAFE_INTEGER);
  return Math.floor(fittingUnits(limit, entry, units, nowMs) / cost);
}
