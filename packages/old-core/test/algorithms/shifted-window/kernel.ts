import type { Kernel } from '../../../src/algorithms/algorithm.ts';
import { decodePair, encodePair } from '../../../src/algorithms/instant-and-field.ts';
import { MOST_UNITS } from '../../../src/values/numbers.ts';
import type { ShiftedWindowPolicy } from './policy.ts';

/** The window that counts: when it ends, and the units used in it. */
export interface ShiftedWindowState {
  readonly endMs: number;
  readonly used: number;
}

export const shiftedWindow: Kernel<ShiftedWindowPolicy, ShiftedWindowState> = (policy, state, cost, nowMs) => {
  const { limit } = policy;
  const live = state !== undefined && nowMs < state.endMs ? state : undefined;
  const used = live?.used ?? 0;
  const allowed = cost === 0 || cost <= limit - used;
  const charged = allowed && cost > 0;
  const usedAfter = charged ? used + cost : used;
  const endMs = live?.endMs ?? windowEndMs(policy, nowMs);
  const untilEndMs = live !== undefined || charged ? endMs - nowMs : 0;
  return {
    state: charged ? { endMs, used: usedAfter } : state,
    verdict: {
      allowed,
      limit,
      remaining: Math.max(limit - usedAfter, 0),
      retryAfterMs: allowed ? 0 : cost <= limit ? untilEndMs : null,
      resetAfterMs: untilEndMs,
      nextAfterMs: usedAfter > 0 ? untilEndMs : null,
      delayMs: 0,
      used: usedAfter,
    },
  };
};

export function refundShiftedWindow(
  _policy: ShiftedWindowPolicy,
  state: ShiftedWindowState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): ShiftedWindowState {
  if (state.endMs !== (chargedUntilMs ?? state.endMs) || nowMs >= state.endMs || state.used === 0) return state;
  return { endMs: state.endMs, used: Math.max(state.used - cost, 0) };
}

export function chargeShiftedWindow(
  policy: ShiftedWindowPolicy,
  state: ShiftedWindowState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): ShiftedWindowState | undefined {
  const live = state !== undefined && nowMs < state.endMs ? state : undefined;
  if (chargedUntilMs !== undefined && live?.endMs !== chargedUntilMs) return state;
  const before = live ?? { endMs: windowEndMs(policy, nowMs), used: 0 };
  const used = Math.min(before.used + cost, MOST_UNITS);
  return used > before.used ? { endMs: before.endMs, used } : state;
}

export function migrateShiftedWindow(
  policy: ShiftedWindowPolicy,
  units: number,
  nowMs: number,
  from?: { readonly state: ShiftedWindowState },
): ShiftedWindowState {
  return { endMs: from?.state.endMs ?? windowEndMs(policy, nowMs), used: units };
}

function windowEndMs({ windowMs, shiftMs }: ShiftedWindowPolicy, nowMs: number): number {
  return (Math.floor((nowMs - shiftMs) / windowMs) + 1) * windowMs + shiftMs;
}

export const encodeShiftedWindow = ({ endMs, used }: ShiftedWindowState): string => encodePair(endMs, used);

export function decodeShiftedWindow(text: string): ShiftedWindowState | undefined {
  const pair = decodePair(text);
  return pair && { endMs: pair[0], used: pair[1] };
}
