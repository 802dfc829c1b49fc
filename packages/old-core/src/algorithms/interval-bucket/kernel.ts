import { MOST_UNITS } from '../../values/numbers.ts';
import type { Kernel } from '../algorithm.ts';
import { decodePair, encodePair } from '../instant-and-field.ts';
import type { IntervalBucketPolicy } from './policy.ts';

/**
 * The units that were missing from a full bucket at its last boundary. A full bucket has no state: its boundaries start
 * again at the next unit.
 */
export interface IntervalBucketState {
  readonly boundaryMs: number;
  readonly missing: number;
}

/**
 * Interval bucket: a token bucket whose units come back `refill` at a time, on boundaries `everyMs` apart, counted from
 * the first unit.
 */
export const intervalBucket: Kernel<IntervalBucketPolicy, IntervalBucketState> = (policy, state, cost, nowMs) => {
  const { capacity, refill, everyMs, overdraft } = policy;
  const { boundaryMs, missing } = (state && atLastBoundary(policy, state, nowMs)) ?? { boundaryMs: nowMs, missing: 0 };
  const needed = overdraft > 0 ? Math.max(1, cost - overdraft) : cost;
  const fits = needed <= capacity;
  const allowed = cost === 0 || (fits && needed + missing <= capacity);
  const charged = allowed && cost > 0;
  const missingAfter = charged ? missing + cost : missing;
  const remaining = Math.max(capacity - missingAfter, 0);
  const untilBackMs = (units: number): number => boundaryMs + Math.ceil(units / refill) * everyMs - nowMs;

  return {
    state: charged ? { boundaryMs, missing: missingAfter } : state,
    verdict: {
      allowed,
      limit: capacity,
      remaining,
      retryAfterMs: allowed ? 0 : fits ? untilBackMs(needed + missing - capacity) : null,
      resetAfterMs: missingAfter > 0 ? untilBackMs(missingAfter) : 0,
      nextAfterMs: missingAfter > 0 ? untilBackMs(missingAfter + remaining + 1 - capacity) : null,
      delayMs: 0,
      used: missingAfter,
    },
  };
};

/** The state after the whole periods that have passed, or undefined when the bucket is full. */
function atLastBoundary(
  { refill, everyMs }: IntervalBucketPolicy,
  { boundaryMs, missing }: IntervalBucketState,
  nowMs: number,
): IntervalBucketState | undefined {
  const periods = Math.max(Math.floor((nowMs - boundaryMs) / everyMs), 0);
  if (periods >= Math.ceil(missing / refill)) return undefined;
  return { boundaryMs: boundaryMs + periods * everyMs, missing: missing - periods * refill };
}

/** Refunds at any time; a bucket never holds more than its capacity. */
export function refundIntervalBucket(
  policy: IntervalBucketPolicy,
  state: IntervalBucketState,
  cost: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
): IntervalBucketState | undefined {
  const live = atLastBoundary(policy, state, nowMs);
  if (live === undefined) return state;
  return live.missing > cost ? { boundaryMs: live.boundaryMs, missing: live.missing - cost } : undefined;
}

/** Charges at any time, even below zero: up to 2^52 units, or as many as 2^52 ms bring back. */
export function chargeIntervalBucket(
  policy: IntervalBucketPolicy,
  state: IntervalBucketState | undefined,
  cost: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
): IntervalBucketState | undefined {
  const { boundaryMs, missing } = (state && atLastBoundary(policy, state, nowMs)) ?? { boundaryMs: nowMs, missing: 0 };
  const most = Math.min(Math.floor(MOST_UNITS / policy.everyMs) * policy.refill, MOST_UNITS);
  const missingAfter = Math.min(missing + cost, most);
  return missingAfter > missing ? { boundaryMs, missing: missingAfter } : state;
}

export function usedOfIntervalBucket(policy: IntervalBucketPolicy, state: IntervalBucketState, nowMs: number): number {
  return atLastBoundary(policy, state, nowMs)?.missing ?? 0;
}

/** A bucket owes no more than it can. Its boundaries stay in place if the period does not change. */
export function migrateIntervalBucket(
  { capacity, overdraft, everyMs }: IntervalBucketPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: IntervalBucketPolicy; readonly state: IntervalBucketState },
): IntervalBucketState {
  const held = from?.policy.everyMs === everyMs ? atLastBoundary(from.policy, from.state, nowMs) : undefined;
  return { boundaryMs: held?.boundaryMs ?? nowMs, missing: Math.min(units, capacity + overdraft) };
}

export function resetAtMs(
  { refill, everyMs }: IntervalBucketPolicy,
  { boundaryMs, missing }: IntervalBucketState,
): number {
  return boundaryMs + Math.ceil(missing / refill) * everyMs;
}

export const encodeIntervalBucket = ({ boundaryMs, missing }: IntervalBucketState): string =>
  encodePair(boundaryMs, missing);

export function decodeIntervalBucket(text: string): IntervalBucketState | undefined {
  const pair = decodePair(text);
  return pair && { boundaryMs: pair[0], missing: pair[1] };
}
