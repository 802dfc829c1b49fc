import { MOST_UNITS } from '../../values/numbers.ts';
import type { Kernel } from '../algorithm.ts';
import { decodePair, encodePair } from '../instant-and-field.ts';
import type { TokenBucketPolicy } from './policy.ts';

/** The bucket is full again `part / p` ms after `fullAtMs`. */
export interface TokenBucketState {
  readonly fullAtMs: number;
  /** In 1/p ms, below p. */
  readonly part: number;
}

/**
 * Token bucket: holds `capacity` units and is refilled steadily, `p` units per `q` ms. Kept as debt: how long until
 * it is full (GCRA's theoretical arrival time). Exact at every rate because debt is counted in 1/p ms: a unit owes
 * `q` of them, a millisecond pays `p`.
 */
export const tokenBucket: Kernel<TokenBucketPolicy, TokenBucketState> = (
  { capacity, overdraft, p, q },
  state,
  cost,
  nowMs,
) => {
  const fullAtMs = state?.fullAtMs ?? nowMs;
  const part = state ? Math.min(state.part, p - 1) : 0; // p may have been larger when it was written
  /**
   * The instant from which so many whole units are available. Avoids the product (fullAtMs - nowMs) * p, which a
   * changed policy could make inexact.
   */
  const atMs = (units: number): number => fullAtMs - Math.floor((capacity * q - units * q - part) / p);

  const needed = overdraft > 0 ? Math.max(1, cost - overdraft) : cost;
  const fits = needed <= capacity; // checked first: needed * q could overflow
  const waitMs = fits ? Math.max(atMs(needed) - nowMs, 0) : null;
  const allowed = cost === 0 || waitMs === 0;
  const charged = allowed && cost > 0;
  const debt = Math.max((fullAtMs - nowMs) * p + part, 0);
  const debtAfter = charged ? debt + cost * q : debt;
  const remaining = Math.max(Math.floor((capacity * q - debtAfter) / q), 0);
  const after = charged ? { fullAtMs: nowMs + Math.floor(debtAfter / p), part: debtAfter % p } : undefined;
  const untilPaidMs = (units: number): number =>
    after === undefined ? atMs(units) - nowMs : Math.ceil((debtAfter + units * q - capacity * q) / p);

  return {
    state: after ?? state,
    verdict: {
      allowed,
      limit: capacity,
      remaining,
      retryAfterMs: allowed ? 0 : waitMs,
      resetAfterMs: debtAfter > 0 ? untilPaidMs(capacity) : 0,
      nextAfterMs: remaining < capacity ? untilPaidMs(remaining + 1) : null,
      delayMs: 0,
      used: unitsOf(debtAfter, q),
    },
  };
};

/** Refunds at any time; a bucket never holds more than its capacity. */
export function refundTokenBucket(
  policy: TokenBucketPolicy,
  state: TokenBucketState,
  cost: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
): TokenBucketState | undefined {
  const { p, q } = policy;
  if (resetAtMs(policy, state) <= nowMs) return state;
  const partAfter = Math.min(state.part, p - 1) - Math.min(cost, Math.floor(MOST_UNITS / q)) * q;
  const fullAtMs = state.fullAtMs + Math.floor(partAfter / p);
  const after = { fullAtMs, part: partAfter - Math.floor(partAfter / p) * p };
  return resetAtMs(policy, after) <= nowMs ? undefined : after;
}

/** Charges at any time, even below zero: as many units as leave at most 2^52 / q of them to refill. */
export function chargeTokenBucket(
  { p, q }: TokenBucketPolicy,
  state: TokenBucketState | undefined,
  cost: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
): TokenBucketState | undefined {
  const debt = state ? Math.max((state.fullAtMs - nowMs) * p + Math.min(state.part, p - 1), 0) : 0;
  const charged = Math.min(cost, Math.floor((MOST_UNITS - debt) / q));
  if (charged <= 0) return state;
  const debtAfter = debt + charged * q;
  return { fullAtMs: nowMs + Math.floor(debtAfter / p), part: debtAfter % p };
}

/** In whole units: a part of one counts as one. Units charged below zero are included. */
export function usedOfTokenBucket({ p, q }: TokenBucketPolicy, state: TokenBucketState, nowMs: number): number {
  return unitsOf(Math.max((state.fullAtMs - nowMs) * p + Math.min(state.part, p - 1), 0), q);
}

function unitsOf(debt: number, q: number): number {
  return Math.min(Math.ceil(debt / q), MOST_UNITS);
}

/** A bucket owes no more than it can. */
export function migrateTokenBucket(
  { capacity, overdraft, p, q }: TokenBucketPolicy,
  units: number,
  nowMs: number,
): TokenBucketState {
  const debt = Math.min(units, capacity + overdraft) * q;
  return { fullAtMs: nowMs + Math.floor(debt / p), part: debt % p };
}

export function resetAtMs(_policy: TokenBucketPolicy, { fullAtMs, part }: TokenBucketState): number {
  return part > 0 ? fullAtMs + 1 : fullAtMs;
}

export const encodeTokenBucket = ({ fullAtMs, part }: TokenBucketState): string => encodePair(fullAtMs, part);

export function decodeTokenBucket(text: string): TokenBucketState | undefined {
  const pair = decodePair(text);
  return pair && { fullAtMs: pair[0], part: pair[1] };
}
