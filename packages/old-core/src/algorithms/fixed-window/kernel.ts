import { MOST_UNITS } from '../../values/numbers.ts';
import type { Kernel } from '../algorithm.ts';
import { decodePair, encodePair } from '../instant-and-field.ts';
import type { FixedWindowPolicy } from './policy.ts';

/**
 * The window that counts: when it ends, and the units used in it. Its end stays as it was set, even if the policy
 * changes.
 */
export interface FixedWindowState {
  readonly endMs: number;
  readonly used: number;
}

/** Fixed window: a count that starts over when the window ends. */
export const fixedWindow: Kernel<FixedWindowPolicy, FixedWindowState> = (
  { limit, windowMs, align },
  state,
  cost,
  nowMs,
) => {
  const live = state !== undefined && nowMs < state.endMs ? state : undefined;
  const used = live?.used ?? 0;
  const fits = cost <= limit;
  const allowed = cost === 0 || (fits && used + cost <= limit);
  const charged = allowed && cost > 0;
  const usedAfter = charged ? used + cost : used;
  const endMs = live?.endMs ?? windowEndMs(windowMs, align, nowMs);
  const untilEndMs = live !== undefined || charged ? endMs - nowMs : 0;

  return {
    state: charged ? { endMs, used: usedAfter } : state,
    verdict: {
      allowed,
      limit,
      remaining: Math.max(limit - usedAfter, 0), // below 0 after the limit was lowered
      retryAfterMs: allowed ? 0 : fits ? untilEndMs : null,
      resetAfterMs: untilEndMs,
      nextAfterMs: usedAfter > 0 && limit > 0 ? untilEndMs : null,
      delayMs: 0,
      used: usedAfter,
    },
  };
};

/**
 * Refunds only within the charged window: the one that ends at the same instant. Without it, within the current one.
 */
export function refundFixedWindow(
  _policy: FixedWindowPolicy,
  state: FixedWindowState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): FixedWindowState {
  if (state.endMs !== (chargedUntilMs ?? state.endMs) || nowMs >= state.endMs || state.used === 0) return state;
  return { endMs: state.endMs, used: Math.max(state.used - cost, 0) };
}

/** Charges the window that ends at that same instant, or the current one, even above its limit: up to 2^52 units. */
export function chargeFixedWindow(
  policy: FixedWindowPolicy,
  state: FixedWindowState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): FixedWindowState | undefined {
  if (chargedUntilMs === undefined) return chargeNow(policy, state, cost, nowMs);
  if (state?.endMs !== chargedUntilMs || nowMs >= chargedUntilMs) return state;
  const used = Math.min(state.used + cost, MOST_UNITS);
  return used > state.used ? { endMs: state.endMs, used } : state;
}

function chargeNow(
  policy: FixedWindowPolicy,
  state: FixedWindowState | undefined,
  cost: number,
  nowMs: number,
): FixedWindowState | undefined {
  const used = state === undefined ? 0 : usedOfFixedWindow(policy, state, nowMs);
  const units = Math.min(cost, MOST_UNITS - used);
  return units <= 0 ? state : fixedWindow({ ...policy, limit: MOST_UNITS }, state, units, nowMs).state;
}

export function usedOfFixedWindow(
  _policy: FixedWindowPolicy,
  { endMs, used }: FixedWindowState,
  nowMs: number,
): number {
  return nowMs < endMs ? used : 0;
}

/** A window that has not ended keeps its end, whatever the new length of a window. */
export function migrateFixedWindow(
  { windowMs, align }: FixedWindowPolicy,
  units: number,
  nowMs: number,
  from?: { readonly state: FixedWindowState },
): FixedWindowState {
  return { endMs: from?.state.endMs ?? windowEndMs(windowMs, align, nowMs), used: units };
}

function windowEndMs(windowMs: number, align: FixedWindowPolicy['align'], nowMs: number): number {
  return align === 'clock' ? (Math.floor(nowMs / windowMs) + 1) * windowMs : nowMs + windowMs;
}

export const encodeFixedWindow = ({ endMs, used }: FixedWindowState): string => encodePair(endMs, used);

export function decodeFixedWindow(text: string): FixedWindowState | undefined {
  const pair = decodePair(text);
  return pair && { endMs: pair[0], used: pair[1] };
}
