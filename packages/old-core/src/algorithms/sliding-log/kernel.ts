import type { Kernel } from '../algorithm.ts';
import { goneUpTo, instantOf, newestMs, totalOf, withUnits, withoutNewest, type Log } from './log.ts';
import { LARGEST_LOG, type SlidingLogPolicy } from './policy.ts';

/** The consumed units by their instants; at least one of them still counts. */
export type SlidingLogState = Log;

/** Sliding log: the units of every interval as long as the window are at most `limit`. */
export const slidingLog: Kernel<SlidingLogPolicy, SlidingLogState> = ({ limit, windowMs }, state, cost, nowMs) => {
  const log = state ?? EMPTY;
  const gone = goneUpTo(log, nowMs - windowMs);
  const used = totalOf(log) - gone;

  const fits = cost <= limit;
  const allowed = cost === 0 || (fits && used + cost <= limit);
  const after = allowed && cost > 0 ? withTaken(log, gone, cost, nowMs) : undefined;
  const shown = after ?? log;
  const goneThen = after?.base ?? gone;
  const usedAfter = totalOf(shown) - goneThen;
  const remaining = Math.max(limit - usedAfter, 0);

  /** The time until so many of the remaining units have come back. */
  const untilBackMs = (units: number): number => instantOf(shown, goneThen + units) + windowMs - nowMs;

  return {
    state: after ?? state,
    verdict: {
      allowed,
      limit,
      remaining,
      retryAfterMs: allowed ? 0 : fits ? untilBackMs(used + cost - limit) : null,
      resetAfterMs: usedAfter > 0 ? newestMs(shown) + windowMs - nowMs : 0,
      nextAfterMs: usedAfter > 0 && limit > 0 ? untilBackMs(usedAfter + remaining + 1 - limit) : null,
      delayMs: 0,
      used: usedAfter,
    },
  };
};

const EMPTY: Log = { base: 0, chunks: [] };

/** If the clock has stepped back behind the newest instant, units are consumed at that instant. */
function withTaken(log: Log, gone: number, units: number, nowMs: number): Log {
  const isEmpty = totalOf(log) === gone;
  return isEmpty ? withUnits(EMPTY, 0, units, nowMs) : withUnits(log, gone, units, Math.max(nowMs, newestMs(log)));
}

/**
 * Refunds the oldest units first, so that the remaining ones come back no earlier than they should. Without the charged
 * window, the newest first.
 */
export function refundSlidingLog(
  { windowMs }: SlidingLogPolicy,
  state: SlidingLogState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingLogState | undefined {
  const gone = goneUpTo(state, nowMs - windowMs);
  const used = totalOf(state) - gone;
  if ((chargedUntilMs !== undefined && nowMs >= chargedUntilMs) || used === 0) return state;
  if (cost >= used) return undefined;
  return chargedUntilMs === undefined ? withoutNewest({ ...state, base: gone }, cost) : { ...state, base: gone + cost };
}

/** Units that are charged later count from that instant. */
export function chargeSlidingLog(
  { windowMs }: SlidingLogPolicy,
  state: SlidingLogState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingLogState | undefined {
  const log = state ?? EMPTY;
  const gone = goneUpTo(log, nowMs - windowMs);
  const used = totalOf(log) - gone;
  if (chargedUntilMs !== undefined && (nowMs >= chargedUntilMs || used === 0)) return state;
  const units = Math.min(cost, LARGEST_LOG - used);
  return units === 0 ? state : withTaken(log, gone, units, nowMs);
}

export function usedOfSlidingLog({ windowMs }: SlidingLogPolicy, state: SlidingLogState, nowMs: number): number {
  return totalOf(state) - goneUpTo(state, nowMs - windowMs);
}

/**
 * If the window length does not change, units keep their instants: when fewer units migrate, the oldest are dropped;
 * when more do, the additional ones are consumed now. Else all are consumed now.
 */
export function migrateSlidingLog(
  { windowMs }: SlidingLogPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: SlidingLogPolicy; readonly state: SlidingLogState },
): SlidingLogState {
  const counted = Math.min(units, LARGEST_LOG);
  const atMs = Math.max(nowMs, from === undefined ? nowMs : newestMs(from.state));
  if (from?.policy.windowMs !== windowMs) return withUnits(EMPTY, 0, counted, atMs);
  const gone = goneUpTo(from.state, nowMs - windowMs);
  const used = totalOf(from.state) - gone;
  return counted > used
    ? withUnits(from.state, gone, counted - used, atMs)
    : { ...from.state, base: totalOf(from.state) - counted };
}

export function resetAtMs({ windowMs }: SlidingLogPolicy, state: SlidingLogState): number {
  return newestMs(state) + windowMs;
}
