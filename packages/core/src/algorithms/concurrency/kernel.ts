import type { Kernel } from '../algorithm.ts';
import { NOBODY, expiryOf, latestExpiry, liveSlots, slotOf, unitsOf, withSlot, type Slots } from './slot.ts';
import type { ConcurrencyPolicy } from './policy.ts';

/** The slots that are held; never none. */
export type ConcurrencyState = Slots;

/**
 * Concurrency: the units of all slots that are held are at most `limit`. Who holds a slot, and asks for as many units
 * again, has it: nothing more is taken, and it expires anew. No slot expires before those that were taken before it: a clock that
 * has stepped back takes it at the newest instant.
 */
export const concurrency: Kernel<ConcurrencyPolicy, ConcurrencyState> = (
  { limit, ttlMs },
  state,
  cost,
  nowMs,
  holder = NOBODY,
) => {
  const live = liveSlots(state ?? [], nowMs);
  const used = unitsOf(live);
  const held = slotOf(live, cost, holder);

  const fits = cost <= limit;
  const allowed = cost === 0 || held !== undefined || (fits && used + cost <= limit);
  const after =
    allowed && cost > 0
      ? withExpiry(live, { units: cost, holder, expiresAtMs: Math.max(nowMs + ttlMs, latestExpiry(live)) })
      : undefined;
  const shown = after ?? live;
  const usedAfter = after === undefined || held !== undefined ? used : used + cost;

  return {
    state: after ?? state,
    verdict: {
      allowed,
      limit,
      remaining: Math.max(limit - usedAfter, 0),
      retryAfterMs: allowed ? 0 : fits ? expiryOf(live, used + cost - limit) - nowMs : null,
      resetAfterMs: usedAfter > 0 ? latestExpiry(shown) - nowMs : 0,
      nextAfterMs: null, // when somebody releases one, which nobody knows
      delayMs: 0,
    },
  };
};

/** The slots, of which this one expires then. */
function withExpiry(slots: Slots, slot: Slots[number]): Slots {
  return withSlot(without(slots, slot.units, slot.holder), slot);
}

function without(slots: Slots, units: number, holder: string): Slots {
  const held = slotOf(slots, units, holder);
  return held === undefined ? slots : slots.filter((slot) => slot !== held);
}

/** Releases a slot, as a whole: so many units of that holder. */
export function releaseSlot(
  _policy: ConcurrencyPolicy,
  state: ConcurrencyState,
  units: number,
  _chargedUntilMs: number,
  nowMs: number,
  holder: string = NOBODY,
): ConcurrencyState | undefined {
  const live = liveSlots(state, nowMs);
  const left = without(live, units, holder);
  if (left === live) return state;
  return left.length === 0 ? undefined : left;
}

/** The state in which a slot that is held expires anew; undefined when it is not held any more. */
export function renewSlot(
  { ttlMs }: ConcurrencyPolicy,
  state: ConcurrencyState,
  units: number,
  nowMs: number,
  holder: string = NOBODY,
): ConcurrencyState | undefined {
  const live = liveSlots(state, nowMs);
  const held = slotOf(live, units, holder);
  if (held === undefined) return undefined;
  return withExpiry(live, { ...held, expiresAtMs: Math.max(nowMs + ttlMs, latestExpiry(live)) });
}

/** What is held cannot have been more. */
export function chargeSlots(
  _policy: ConcurrencyPolicy,
  state: ConcurrencyState | undefined,
): ConcurrencyState | undefined {
  return state;
}

export function usedOfSlots(_policy: ConcurrencyPolicy, state: ConcurrencyState, nowMs: number): number {
  return unitsOf(liveSlots(state, nowMs));
}

/** Who holds a slot goes on holding it, however many units should go over; those of another kind are held for a `ttl`. */
export function carrySlots(
  { ttlMs }: ConcurrencyPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: ConcurrencyPolicy; readonly state: ConcurrencyState },
): ConcurrencyState {
  return from === undefined ? [{ expiresAtMs: nowMs + ttlMs, units, holder: NOBODY }] : liveSlots(from.state, nowMs);
}

export function resetAtMs(_policy: ConcurrencyPolicy, state: ConcurrencyState): number {
  return latestExpiry(state);
}
