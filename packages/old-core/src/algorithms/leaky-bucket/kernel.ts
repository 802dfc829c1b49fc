import type { Kernel } from '../algorithm.ts';
import { decodePair, encodePair } from '../instant-and-field.ts';
import { unitsAtOnce, type LeakyBucketPolicy } from './policy.ts';

/**
 * The next start is free `part / p` ms after `freeAtMs`: a unit's position in the line ends where the next one
 * begins.
 */
export interface LeakyBucketState {
  readonly freeAtMs: number;
  /** In 1/p ms, below p. */
  readonly part: number;
}

/** The longest line that is ever written, so that instants stay exact whole numbers. */
const LONGEST_LINE = 2 ** 52;

/**
 * Leaky bucket: a line of units, each of which starts `q / p` ms after the one before it. Kept as the end of the
 * line, and counted in 1/p ms: a unit takes `q` of them, a millisecond passes `p`. Only results are rounded, never
 * the state.
 */
export const leakyBucket: Kernel<LeakyBucketPolicy, LeakyBucketState> = (policy, state, cost, nowMs) => {
  const { maxDelayMs, p, q } = policy;
  const limit = unitsAtOnce(policy);
  const tolerance = maxDelayMs * p;
  const freeAtMs = state?.freeAtMs ?? nowMs;
  const part = state ? Math.min(state.part, p - 1) : 0; // p may have been larger when it was written
  /**
   * The instant from which the last of so many units starts in time. Avoids the product (freeAtMs - nowMs) * p, which
   * a changed policy could make inexact.
   */
  const atMs = (units: number): number => freeAtMs - Math.floor((tolerance - (units - 1) * q - part) / p);

  const fits = cost <= limit; // checked first: cost * q could overflow
  const waitMs = fits ? Math.max(atMs(cost) - nowMs, 0) : null;
  const allowed = cost === 0 || waitMs === 0;
  const charged = allowed && cost > 0;
  const ahead = Math.max((freeAtMs - nowMs) * p + part, 0);
  const untilFreeMs = ahead > 0 ? (part > 0 ? freeAtMs + 1 : freeAtMs) - nowMs : 0;
  const aheadAfter = charged ? ahead + cost * q : ahead;
  const remaining = aheadAfter > tolerance ? 0 : Math.floor((tolerance - aheadAfter) / q) + 1;
  const untilInTimeMs = (units: number): number =>
    charged ? Math.ceil((aheadAfter + (units - 1) * q - tolerance) / p) : atMs(units) - nowMs;

  return {
    state: charged ? lineEnd(nowMs, aheadAfter, p) : state,
    verdict: {
      allowed,
      limit,
      remaining,
      retryAfterMs: allowed ? 0 : waitMs,
      resetAfterMs: charged ? Math.ceil(aheadAfter / p) : untilFreeMs,
      nextAfterMs: remaining < limit ? untilInTimeMs(remaining + 1) : null,
      delayMs: charged ? untilFreeMs : 0,
      used: unitsOf(aheadAfter, q),
    },
  };
};

function lineEnd(nowMs: number, ahead: number, p: number): LeakyBucketState {
  return { freeAtMs: nowMs + Math.floor(ahead / p), part: ahead % p };
}

/**
 * Refunds only from the end of the line: units behind the refunded ones would start no earlier, and the next unit
 * would start together with one of them. Ends are compared as decisions report them, in whole milliseconds. Without the
 * charged end, whatever stands at the end.
 */
export function refundLeakyBucket(
  policy: LeakyBucketPolicy,
  state: LeakyBucketState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): LeakyBucketState | undefined {
  const { p, q } = policy;
  const endMs = resetAtMs(policy, state);
  if (endMs !== (chargedUntilMs ?? endMs) || endMs <= nowMs) return state;
  const partAfter = Math.min(state.part, p - 1) - Math.min(cost, Math.floor(LONGEST_LINE / q)) * q;
  const freeAtMs = state.freeAtMs + Math.floor(partAfter / p);
  const after = { freeAtMs, part: partAfter - Math.floor(partAfter / p) * p };
  return resetAtMs(policy, after) <= nowMs ? undefined : after;
}

/** Charges at any time, at the end of the line: only units that come later start later. */
export function chargeLeakyBucket(
  { p, q }: LeakyBucketPolicy,
  state: LeakyBucketState | undefined,
  cost: number,
  _chargedUntilMs: number | undefined,
  nowMs: number,
): LeakyBucketState | undefined {
  const ahead = state ? Math.max((state.freeAtMs - nowMs) * p + Math.min(state.part, p - 1), 0) : 0;
  const units = Math.min(cost, Math.floor(Math.max(LONGEST_LINE - ahead, 0) / q));
  return units === 0 ? state : lineEnd(nowMs, ahead + units * q, p);
}

/** In whole units: a part of one counts as one. Units charged beyond the longest line are included. */
export function usedOfLeakyBucket({ p, q }: LeakyBucketPolicy, state: LeakyBucketState, nowMs: number): number {
  return unitsOf(Math.max((state.freeAtMs - nowMs) * p + Math.min(state.part, p - 1), 0), q);
}

function unitsOf(ahead: number, q: number): number {
  return Math.min(Math.ceil(ahead / q), LONGEST_LINE);
}

/** A line that keeps all its units stays as it is, whatever the new pace: its units keep their starts. */
export function migrateLeakyBucket(
  { maxDelayMs, p, q }: LeakyBucketPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: LeakyBucketPolicy; readonly state: LeakyBucketState },
): LeakyBucketState {
  if (from !== undefined && usedOfLeakyBucket(from.policy, from.state, nowMs) === units) {
    return from.policy.p === p ? from.state : { freeAtMs: resetAtMs(from.policy, from.state), part: 0 };
  }
  return lineEnd(nowMs, Math.min(units, mostUnits(maxDelayMs * p, q)) * q, p);
}

/** The most units, and a part of one, that an allowed request leaves in the line. */
function mostUnits(tolerance: number, q: number): number {
  return Math.ceil(tolerance / q) + 1;
}

export function resetAtMs(_policy: LeakyBucketPolicy, { freeAtMs, part }: LeakyBucketState): number {
  return part > 0 ? freeAtMs + 1 : freeAtMs;
}

export const encodeLeakyBucket = ({ freeAtMs, part }: LeakyBucketState): string => encodePair(freeAtMs, part);

export function decodeLeakyBucket(text: string): LeakyBucketState | undefined {
  const pair = decodePair(text);
  return pair && { freeAtMs: pair[0], part: pair[1] };
}
