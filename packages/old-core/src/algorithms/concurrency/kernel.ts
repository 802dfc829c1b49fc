import type { Kernel } from '../algorithm.ts';
import { NO_HOLDER, expiryOf, latestExpiry, liveSlots, slotOf, unitsOf, withSlot, type Slots } from './slot.ts';
import type { ConcurrencyPolicy } from './policy.ts';

/** The held slots; never none. */
export type ConcurrencyState = Slots;

/**
 * Concurrency: the units of all held slots are at most `limit`. A holder that requests as many units again keeps its
 * slot: no more units are consumed, and its expiry starts again. No slot expires before an older one: after the clock
 * steps back, a new slot counts from the newest instant.
 */
export const concurrency: Kernel<ConcurrencyPolicy, ConcurrencyState> = (
  { limit, ttlMs },
  state,
  cost,
  nowMs,
  holder = NO_HOLDER,
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
      nextAfterMs: null, // when a holder releases its slot, which cannot be known
      delayMs: 0,
      used: usedAfter,
    },
  };
};

/** The slots with the expiry of this one. */
function withExpiry(slots: Slots, slot: Slots[number]): Slots {
  return withSlot(without(slots, slot.units, slot.holder), slot);
}

function without(slots: Slots, units: number, holder: string): Slots {
  const held = slotOf(slots, units, holder);
  return held === undefined ? slots : slots.filter((slot) => slot !== held);
}

/** Releases a whole slot: that of this holder with so many units. */
export function releaseSlot(
  _policy: ConcurrencyPolicy,
  state: ConcurrencyState,
  units: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
  holder: string = NO_HOLDER,
): ConcurrencyState | undefined {
  const live = liveSlots(state, nowMs);
  const left = without(live, units, holder);
  if (left === live) return state;
  return left.length === 0 ? undefined : left;
}

/** The state in which the expiry of a held slot starts again; undefined when it is no longer held. */
export function renewSlot(
  { ttlMs }: ConcurrencyPolicy,
  state: ConcurrencyState,
  units: number,
  nowMs: number,
  holder: string = NO_HOLDER,
): ConcurrencyState | undefined {
  const live = liveSlots(state, nowMs);
  const held = slotOf(live, units, holder);
  if (held === undefined) return undefined;
  return withExpiry(live, { ...held, expiresAtMs: Math.max(nowMs + ttlMs, latestExpiry(live)) });
}

/** A slot never costs more than was requested. */
export function chargeSlots(
  _policy: ConcurrencyPolicy,
  state: ConcurrencyState | undefined,
): ConcurrencyState | undefined {
  return state;
}

export function usedOfSlots(_policy: ConcurrencyPolicy, state: ConcurrencyState, nowMs: number): number {
  return unitsOf(liveSlots(state, nowMs));
}

/**
 * Holders keep their slots, whatever the number of units to migrate; units of another algorithm are held for a `ttl`.
 */
export function migrateSlots(
  { ttlMs }: ConcurrencyPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: ConcurrencyPolicy; readonly state: ConcurrencyState },
): ConcurrencyState {
  return from === undefined ? [{ expiresAtMs: nowMs + ttlMs, units, holder: NO_HOLDER }] : liveSlots(from.state, nowMs);
}

/** Holders keep their slots: none of them expires later than a `ttl` from now. */
export function healSlots({ ttlMs }: ConcurrencyPolicy, state: ConcurrencyState, nowMs: number): ConcurrencyState {
  return liveSlots(state, nowMs).map((slot) => ({
    ...slot,
    expiresAtMs: Math.min(slot.expiresAtMs, nowMs + ttlMs),
  }));
}
