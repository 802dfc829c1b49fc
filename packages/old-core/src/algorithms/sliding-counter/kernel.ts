import type { Kernel, StateAlone } from '../algorithm.ts';
import { integersOf } from '../instant-and-field.ts';
import { mostUnits, type SlidingCounterPolicy } from './policy.ts';

/**
 * The units of two windows that lie side by side on the clock. The newer one is stored as the latest instant in it at
 * which units were consumed, so that the units can be placed when the length of windows changes.
 */
export interface SlidingCounterState {
  readonly lastMs: number;
  readonly windowMs: number;
  readonly current: number;
  readonly previous: number;
}

/** The two windows as they lie at an instant, in the policy's length. */
interface Windows {
  /** The instant that counts: never before the last units, even if the clock steps back. */
  readonly atMs: number;
  readonly startMs: number;
  readonly current: number;
  readonly previous: number;
}

/**
 * Sliding counter: the current window on the clock, and the share of the one before that an interval of one window's
 * length still covers, together hold at most `limit`. Both sides are multiplied by the window and compared as
 * integers, never rounded.
 */
export const slidingCounter: Kernel<SlidingCounterPolicy, SlidingCounterState> = (policy, state, cost, nowMs) => {
  const { limit, windowMs } = policy;
  const { atMs, startMs, current, previous } = windowsAt(windowMs, state, nowMs);
  const fits = cost <= limit; // checked first: cost * windowMs could overflow
  const allowed =
    cost === 0 ||
    (cost <= limit - current && weighed(windowMs, startMs, atMs, previous) <= (limit - current - cost) * windowMs);
  const charged = allowed && cost > 0;
  const currentAfter = charged ? current + cost : current;
  const usedAfter = currentAfter + Math.ceil(weighed(windowMs, startMs, atMs, previous) / windowMs);
  const remaining = Math.max(limit - usedAfter, 0);

  /** The instant from which so many units fit that do not fit yet. */
  const untilFitMs = (units: number): number => {
    const free = limit - currentAfter - units;
    const endMs = startMs + windowMs;
    return free >= 0
      ? endMs - Math.floor((free * windowMs) / previous) - nowMs
      : endMs +
          windowMs -
          Math.floor(((limit - units) * windowMs) / Math.min(currentAfter, mostUnits(windowMs))) -
          nowMs;
  };

  return {
    state: charged ? { lastMs: atMs, windowMs, current: currentAfter, previous } : state,
    verdict: {
      allowed,
      limit,
      remaining,
      retryAfterMs: allowed ? 0 : fits ? untilFitMs(cost) : null,
      resetAfterMs: currentAfter + previous > 0 ? lastLeaveMs(startMs, windowMs, currentAfter) - nowMs : 0,
      nextAfterMs: remaining < limit ? untilFitMs(remaining + 1) : null,
      delayMs: 0,
      used: usedAfter,
    },
  };
};

/** The units of the previous window that an interval of one window's length still covers, times the window. */
function weighed(windowMs: number, startMs: number, atMs: number, previous: number): number {
  return previous * (startMs + windowMs - atMs);
}

/**
 * A state with another window length counts with all its units at its last instant, so that no unit comes back too
 * early. Units above what can be weighed are dropped when their window ends.
 */
function windowsAt(windowMs: number, state: SlidingCounterState | undefined, nowMs: number): Windows {
  const atMs = Math.max(nowMs, state?.lastMs ?? nowMs);
  const startMs = windowStart(atMs, windowMs);
  if (state === undefined) return { atMs, startMs, current: 0, previous: 0 };
  const { lastMs, current, previous } = inWindowsOf(windowMs, state);
  const passed = (startMs - windowStart(lastMs, windowMs)) / windowMs;
  return {
    atMs,
    startMs,
    current: passed === 0 ? current : 0,
    previous: Math.min(passed === 0 ? previous : passed === 1 ? current : 0, mostUnits(windowMs)),
  };
}

function inWindowsOf(windowMs: number, state: SlidingCounterState): SlidingCounterState {
  if (state.windowMs === windowMs) return state;
  return { lastMs: state.lastMs, windowMs, current: state.current + state.previous, previous: 0 };
}

function windowStart(atMs: number, windowMs: number): number {
  return Math.floor(atMs / windowMs) * windowMs;
}

/** When the youngest units leave: a window after the end of theirs. */
function lastLeaveMs(startMs: number, windowMs: number, current: number): number {
  return startMs + (current > 0 ? 2 : 1) * windowMs;
}

export function resetAtMs({ windowMs }: SlidingCounterPolicy, state: SlidingCounterState): number {
  const { lastMs, current } = inWindowsOf(windowMs, state);
  return lastLeaveMs(windowStart(lastMs, windowMs), windowMs, current);
}

/**
 * Refunds only to the charged window, while it counts: the one that stops counting at that same instant. Without it, to
 * the newer window first.
 */
export function refundSlidingCounter(
  policy: SlidingCounterPolicy,
  state: SlidingCounterState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingCounterState | undefined {
  if (chargedUntilMs === undefined) return refundNewest(policy, state, cost, nowMs);
  const charged = windowOf(policy, state, chargedUntilMs, nowMs);
  if (charged === undefined || state[charged] === 0) return state;
  const after = { ...state, [charged]: Math.max(state[charged] - cost, 0) };
  return after.current + after.previous === 0 || resetAtMs(policy, after) <= nowMs ? undefined : after;
}

function refundNewest(
  policy: SlidingCounterPolicy,
  state: SlidingCounterState,
  cost: number,
  nowMs: number,
): SlidingCounterState | undefined {
  const held = inWindowsOf(policy.windowMs, state);
  if (resetAtMs(policy, held) <= nowMs) return state;
  const current = Math.min(cost, held.current);
  const previous = Math.min(cost - current, held.previous);
  if (current + previous === 0) return state;
  const after = { ...held, current: held.current - current, previous: held.previous - previous };
  return after.current + after.previous === 0 || resetAtMs(policy, after) <= nowMs ? undefined : after;
}

/**
 * Charges the charged window, while it counts, or the current one, even above its limit: as many units as can be
 * weighed.
 */
export function chargeSlidingCounter(
  policy: SlidingCounterPolicy,
  state: SlidingCounterState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingCounterState | undefined {
  if (chargedUntilMs === undefined) return chargeNow(policy, state, cost, nowMs);
  if (state === undefined) return undefined;
  const charged = windowOf(policy, state, chargedUntilMs, nowMs);
  if (charged === undefined) return state;
  const units = Math.min(cost, Math.max(mostUnits(policy.windowMs) - state[charged], 0));
  return units === 0 ? state : { ...state, [charged]: state[charged] + units };
}

function chargeNow(
  policy: SlidingCounterPolicy,
  state: SlidingCounterState | undefined,
  cost: number,
  nowMs: number,
): SlidingCounterState | undefined {
  const limit = mostUnits(policy.windowMs);
  const used = state === undefined ? 0 : usedOfSlidingCounter(policy, state, nowMs);
  const units = Math.min(cost, limit - used);
  return units <= 0 ? state : slidingCounter({ ...policy, limit }, state, units, nowMs).state;
}

/** Which of the two windows stops counting at a future instant. */
function windowOf(
  { windowMs }: SlidingCounterPolicy,
  state: SlidingCounterState,
  untilMs: number,
  nowMs: number,
): 'current' | 'previous' | undefined {
  if (state.windowMs !== windowMs || nowMs >= untilMs) return undefined;
  const endMs = windowStart(state.lastMs, windowMs) + windowMs;
  return untilMs === endMs + windowMs ? 'current' : untilMs === endMs ? 'previous' : undefined;
}

/** The estimate, rounded up. */
export function usedOfSlidingCounter(
  { windowMs }: SlidingCounterPolicy,
  state: SlidingCounterState,
  nowMs: number,
): number {
  const { atMs, startMs, current, previous } = windowsAt(windowMs, state, nowMs);
  return current + Math.ceil(weighed(windowMs, startMs, atMs, previous) / windowMs);
}

/**
 * If the window length does not change, units leave with the windows in which they were consumed; else they are
 * consumed now.
 */
export function migrateSlidingCounter(
  policy: SlidingCounterPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: SlidingCounterPolicy; readonly state: SlidingCounterState },
): SlidingCounterState {
  const { windowMs } = policy;
  if (from?.policy.windowMs !== windowMs) {
    const lastMs = Math.max(nowMs, from?.state.lastMs ?? nowMs);
    return { lastMs, windowMs, current: Math.min(units, mostUnits(windowMs)), previous: 0 };
  }
  const used = usedOfSlidingCounter(policy, from.state, nowMs);
  if (used === units) return from.state;
  const { atMs, startMs, current } = windowsAt(windowMs, from.state, nowMs);
  const most = mostUnits(windowMs);
  const currentAfter = Math.min(Math.ceil((current * units) / used), units, most);
  const leaving = Math.min(units - currentAfter, most);
  const previousAfter = Math.min(Math.floor((leaving * windowMs) / (startMs + windowMs - atMs)), most);
  return { lastMs: atMs, windowMs, current: currentAfter, previous: previousAfter };
}

/** The state contains everything except the limit. */
export function inspectSlidingCounter(state: SlidingCounterState, nowMs: number): StateAlone {
  const policy: SlidingCounterPolicy = { algorithm: 'slidingCounter', limit: 1, windowMs: state.windowMs };
  return { used: usedOfSlidingCounter(policy, state, nowMs), resetAtMs: resetAtMs(policy, state) };
}

export function encodeSlidingCounter({ lastMs, windowMs, current, previous }: SlidingCounterState): string {
  return [lastMs, windowMs, current, previous].join(':');
}

export function decodeSlidingCounter(text: string): SlidingCounterState | undefined {
  const fields = integersOf(text);
  if (fields?.length !== 4 || fields[1] === 0) return undefined;
  const [lastMs, windowMs, current, previous] = fields as [number, number, number, number];
  return { lastMs, windowMs, current, previous };
}
