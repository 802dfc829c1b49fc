import { MOST_UNITS } from '../../values/numbers.ts';
import type { Kernel, StateAlone } from '../algorithm.ts';
import { integersOf } from '../instant-and-field.ts';
import { blocksOf, type SlidingWindowPolicy } from './policy.ts';

/**
 * Units per block, newest block first, the last one never 0. `blockMs` and `blocks` are those of the policy that
 * wrote it: a state can still be read after the policy changes.
 */
export interface SlidingWindowState {
  /** The latest instant at which units were consumed, in the newest block. */
  readonly lastMs: number;
  readonly blockMs: number;
  readonly blocks: number;
  readonly sum: number;
  readonly counts: readonly number[];
}

/**
 * Sliding window: the current block, and the `blocks` before it, together hold at most `limit`. The units of a block
 * leave a window after its last instant: the latest charge of the newest block, the last millisecond of any other.
 */
export const slidingWindow: Kernel<SlidingWindowPolicy, SlidingWindowState> = (policy, state, cost, nowMs) => {
  const { limit, precisionMs: blockMs } = policy;
  const blocks = blocksOf(policy);
  const held = state && inBlocksOf(policy, state);
  const live = held === undefined ? NONE : liveCounts(held, nowMs);
  const used = held !== undefined && live === held.counts ? held.sum : sumOf(live);

  const fits = cost <= limit;
  const allowed = cost === 0 || (fits && used + cost <= limit);
  const charged = allowed && cost > 0;
  const heldMs = held === undefined ? nowMs : held.lastMs;
  let after: SlidingWindowState;
  if (charged) {
    const atMs = Math.max(nowMs, heldMs); // earlier blocks are never charged, even if the clock steps back
    const startMs = blockStart(atMs, blockMs);
    const counts = withCharge(live, used, (startMs - blockStart(heldMs, blockMs)) / blockMs, cost);
    after = { lastMs: atMs, blockMs, blocks, sum: used + cost, counts: withoutTrailingZeros(counts) };
  } else after = { lastMs: heldMs, blockMs, blocks, sum: used, counts: live };
  const remaining = Math.max(limit - after.sum, 0);
  const isUsed = after.sum > 0;
  return {
    state: charged ? after : state,
    verdict: {
      allowed,
      limit,
      remaining,
      retryAfterMs: allowed ? 0 : fits ? leftByMs(after, used + cost - limit) - nowMs : null,
      resetAfterMs: isUsed ? leftByMs(after, after.sum) - nowMs : 0,
      nextAfterMs: isUsed && limit > 0 ? leftByMs(after, after.sum + remaining + 1 - limit) - nowMs : null,
      delayMs: 0,
      used: after.sum,
    },
  };
};

const NONE: readonly number[] = [];

/**
 * The counts, newest block first, after `cost` more units are consumed `passed` blocks after the newest one of
 * `live`, whose counts sum to `used`.
 */
function withCharge(live: readonly number[], used: number, passed: number, cost: number): readonly number[] {
  if (used === 0) return [cost];
  if (passed > 0) return [cost, ...new Array<number>(passed - 1).fill(0), ...live];
  const counts = live.slice();
  counts[0] = (live[0] ?? 0) + cost;
  return counts;
}

/** When at least so many units have left. */
function leftByMs({ lastMs, blockMs, blocks, counts }: SlidingWindowState, units: number): number {
  let age = counts.length - 1;
  for (let left = counts[age] ?? 0; left < units && age > 0; left += counts[age] ?? 0) age--;
  const latestMs = age === 0 ? lastMs : blockStart(lastMs, blockMs) - (age - 1) * blockMs - 1;
  return latestMs + blocks * blockMs;
}

/**
 * The state in blocks of the policy. A state with another length counts with all its units at its last instant, so
 * that no unit comes back too early.
 */
function inBlocksOf(policy: SlidingWindowPolicy, state: SlidingWindowState): SlidingWindowState {
  const blockMs = policy.precisionMs;
  const blocks = blocksOf(policy);
  const { lastMs, sum } = state;
  return state.blockMs === blockMs && state.blocks === blocks ? state : { lastMs, blockMs, blocks, sum, counts: [sum] };
}

function blockStart(atMs: number, blockMs: number): number {
  return Math.floor(atMs / blockMs) * blockMs;
}

export function resetAtMs(policy: SlidingWindowPolicy, state: SlidingWindowState): number {
  return leftByMs(inBlocksOf(policy, state), state.sum);
}

function withoutTrailingZeros(counts: readonly number[]): readonly number[] {
  let length = counts.length;
  while (length > 1 && counts[length - 1] === 0) length--;
  return length === counts.length ? counts : counts.slice(0, length);
}

/** Refunds only to the charged block, until a window after the charge. Without it, to the newest blocks. */
export function refundSlidingWindow(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingWindowState | undefined {
  if (chargedUntilMs === undefined) return refundNewest(policy, state, cost, nowMs);
  if (inBlocksOf(policy, state) !== state || nowMs >= chargedUntilMs) return state;
  const age = ageOf(state, chargedUntilMs);
  const count = state.counts[age] ?? 0;
  if (count === 0) return state;
  const given = Math.min(cost, count);
  if (given === state.sum) return undefined;
  return { ...state, sum: state.sum - given, counts: withoutTrailingZeros(state.counts.with(age, count - given)) };
}

function refundNewest(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState,
  cost: number,
  nowMs: number,
): SlidingWindowState | undefined {
  const live = liveCounts(inBlocksOf(policy, state), nowMs);
  const used = sumOf(live);
  if (used === 0) return state;
  if (cost >= used) return undefined;
  let left = cost;
  const counts = live.map((count) => {
    const given = Math.min(count, left);
    left -= given;
    return count - given;
  });
  return { ...inBlocksOf(policy, state), sum: used - cost, counts: withoutTrailingZeros(counts) };
}

/** Charges the same block as a charge a window before that instant, or the current one: up to 2^52 units in all. */
export function chargeSlidingWindow(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingWindowState | undefined {
  if (chargedUntilMs === undefined) return chargeNow(policy, state, cost, nowMs);
  if (state === undefined || inBlocksOf(policy, state) !== state || nowMs >= chargedUntilMs) return state;
  const age = ageOf(state, chargedUntilMs);
  const more = Math.min(cost, MOST_UNITS - state.sum);
  if (more <= 0 || age < 0 || age > state.blocks) return state;
  const counts = state.counts.concat(new Array<number>(Math.max(age + 1 - state.counts.length, 0)).fill(0));
  return { ...state, sum: state.sum + more, counts: counts.with(age, (counts[age] ?? 0) + more) };
}

function chargeNow(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState | undefined,
  cost: number,
  nowMs: number,
): SlidingWindowState | undefined {
  const used = state === undefined ? 0 : usedOfSlidingWindow(policy, state, nowMs);
  const units = Math.min(cost, MOST_UNITS - used);
  return units <= 0 ? state : slidingWindow({ ...policy, limit: MOST_UNITS }, state, units, nowMs).state;
}

/** The age of the block that was charged a window before this instant, counted from the newest one. */
function ageOf({ lastMs, blockMs, blocks }: SlidingWindowState, untilMs: number): number {
  return (blockStart(lastMs, blockMs) - blockStart(untilMs, blockMs)) / blockMs + blocks;
}

export function usedOfSlidingWindow(policy: SlidingWindowPolicy, state: SlidingWindowState, nowMs: number): number {
  return sumOf(liveCounts(inBlocksOf(policy, state), nowMs));
}

/**
 * If the length and number of blocks do not change, units leave with the blocks in which they were consumed. Otherwise
 * all units count as consumed now; without an earlier state, in the last millisecond of the block.
 */
export function migrateSlidingWindow(
  policy: SlidingWindowPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: SlidingWindowPolicy; readonly state: SlidingWindowState },
): SlidingWindowState {
  const blockMs = policy.precisionMs;
  const blocks = blocksOf(policy);
  const lastMs = from?.state.lastMs ?? blockStart(nowMs, blockMs) + blockMs - 1;
  if (from?.policy.precisionMs !== blockMs || blocksOf(from.policy) !== blocks) {
    return { lastMs: Math.max(nowMs, lastMs), blockMs, blocks, sum: units, counts: [units] };
  }
  const counts = scaled(liveCounts(inBlocksOf(from.policy, from.state), nowMs), units);
  return { lastMs, blockMs, blocks, sum: units, counts: withoutTrailingZeros(counts) };
}

/** The counts that are still in the window. */
function liveCounts({ lastMs, blockMs, blocks, counts }: SlidingWindowState, nowMs: number): readonly number[] {
  if (nowMs >= lastMs + blocks * blockMs) return NONE;
  const kept = blocks + 1 - Math.floor((nowMs + 1 - blockStart(lastMs, blockMs)) / blockMs);
  return kept < counts.length ? counts.slice(0, kept) : counts;
}

/** The same counts in proportion, with so many units in total. Rounding favours older blocks. */
function scaled(counts: readonly number[], units: number): readonly number[] {
  const used = sumOf(counts);
  let taken = 0;
  let before = 0;
  return counts
    .toReversed()
    .map((count) => {
      taken += count;
      const upTo = taken === used ? units : Math.min(Math.ceil((taken * units) / used), units);
      const share = upTo - before;
      before = upTo;
      return share;
    })
    .toReversed();
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The state contains everything except the limit. */
export function inspectSlidingWindow(state: SlidingWindowState, nowMs: number): StateAlone {
  return { used: sumOf(liveCounts(state, nowMs)), resetAtMs: leftByMs(state, state.sum) };
}

export function encodeSlidingWindow({ lastMs, blockMs, blocks, sum, counts }: SlidingWindowState): string {
  return [lastMs, blockMs, blocks, sum, ...counts].join(':');
}

export function decodeSlidingWindow(text: string): SlidingWindowState | undefined {
  const fields = integersOf(text);
  if (fields === undefined || fields.length < 5 || fields[1] === 0) return undefined;
  const [lastMs, blockMs, blocks, sum] = fields as [number, number, number, number];
  return { lastMs, blockMs, blocks, sum, counts: fields.slice(4) };
}
