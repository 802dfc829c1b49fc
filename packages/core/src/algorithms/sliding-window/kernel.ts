import { MOST_UNITS } from '../../values/numbers.ts';
import type { Kernel, StateAlone } from '../algorithm.ts';
import { toInteger } from '../instant-and-field.ts';
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

/** Sliding window: the current block, and the `blocks` before it, together hold at most `limit`. */
export const slidingWindow: Kernel<SlidingWindowPolicy, SlidingWindowState> = (policy, state, cost, nowMs) => {
  const { limit, precisionMs: blockMs } = policy;
  const blocks = blocksOf(policy);
  const held = state && inBlocksOf(policy, state);
  // Earlier blocks are never charged, even if the clock steps back.
  const atMs = Math.max(nowMs, held?.lastMs ?? nowMs);
  const currentMs = blockStart(atMs, blockMs);
  const heldMs = held === undefined ? currentMs : blockStart(held.lastMs, blockMs);
  const passed = (currentMs - heldMs) / blockMs;
  const before = held === undefined ? NONE : held.counts;
  const live = passed === 0 ? before : before.slice(0, Math.max(blocks + 1 - passed, 0));
  const used = held === undefined ? 0 : passed === 0 ? held.sum : sumOf(live);

  const fits = cost <= limit;
  const allowed = cost === 0 || (fits && used + cost <= limit);
  const charged = allowed && cost > 0;
  const startMs = charged ? currentMs : heldMs;
  const counts = charged ? withCharge(live, used, passed, cost) : live;
  const usedAfter = charged ? used + cost : used;
  const remaining = Math.max(limit - usedAfter, 0);
  const endMs = startMs + (blocks + 1) * blockMs - nowMs; // of the newest block

  return {
    state: charged ? { lastMs: atMs, blockMs, blocks, sum: usedAfter, counts: withoutTrailingZeros(counts) } : state,
    verdict: {
      allowed,
      limit,
      remaining,
      retryAfterMs: allowed ? 0 : fits ? endMs - ageThatFrees(counts, used + cost - limit) * blockMs : null,
      resetAfterMs: usedAfter > 0 ? endMs - youngestAge(counts) * blockMs : 0,
      nextAfterMs:
        usedAfter > 0 && limit > 0 ? endMs - ageThatFrees(counts, usedAfter + remaining + 1 - limit) * blockMs : null,
      delayMs: 0,
      used: usedAfter,
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
  if (passed > 0) return [cost, ...zeros(passed - 1), ...live];
  const counts = live.slice();
  counts[0] = (live[0] ?? 0) + cost;
  return counts;
}

/** The age of the block whose end takes so many units out of the window. */
function ageThatFrees(counts: readonly number[], units: number): number {
  let age = counts.length - 1;
  for (let left = counts[age] ?? 0; left < units && age > 0; left += counts[age] ?? 0) age--;
  return age;
}

/** The age of the newest block with units: the units of newer blocks may have been refunded. */
function youngestAge(counts: readonly number[]): number {
  let age = 0;
  while (age < counts.length - 1 && counts[age] === 0) age++;
  return age;
}

/**
 * The state in blocks of the policy. A state with another length counts with all its units at its last instant, so
 * that no unit comes back too early.
 */
function inBlocksOf(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState,
): Pick<SlidingWindowState, 'lastMs' | 'sum' | 'counts'> {
  if (state.blockMs === policy.precisionMs && state.blocks === blocksOf(policy)) return state;
  return { lastMs: state.lastMs, sum: state.sum, counts: [state.sum] };
}

function blockStart(atMs: number, blockMs: number): number {
  return Math.floor(atMs / blockMs) * blockMs;
}

export function resetAtMs(policy: SlidingWindowPolicy, state: SlidingWindowState): number {
  const { lastMs, counts } = inBlocksOf(policy, state);
  const { precisionMs: blockMs } = policy;
  return blockStart(lastMs, blockMs) + (blocksOf(policy) + 1 - youngestAge(counts)) * blockMs;
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}

function withoutTrailingZeros(counts: readonly number[]): readonly number[] {
  let length = counts.length;
  while (length > 1 && counts[length - 1] === 0) length--;
  return length === counts.length ? counts : counts.slice(0, length);
}

/**
 * Refunds only to the charged block, while it counts: the one that stops counting at that same instant. Without it, to
 * the newest blocks.
 */
export function refundSlidingWindow(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingWindowState | undefined {
  if (chargedUntilMs === undefined) return refundNewest(policy, state, cost, nowMs);
  const blocks = blocksOf(policy);
  if (state.blockMs !== policy.precisionMs || state.blocks !== blocks || nowMs >= chargedUntilMs) return state;
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
  const live = liveCounts(policy, state, nowMs);
  const used = sumOf(live);
  if (used === 0) return state;
  if (cost >= used) return undefined;
  let left = cost;
  const counts = live.map((count) => {
    const given = Math.min(count, left);
    left -= given;
    return count - given;
  });
  return {
    lastMs: state.lastMs,
    blockMs: policy.precisionMs,
    blocks: blocksOf(policy),
    sum: used - cost,
    counts: withoutTrailingZeros(counts),
  };
}

/**
 * Charges the block that stops counting at that same instant, or the current one, even above the limit: up to 2^52
 * units in all blocks.
 */
export function chargeSlidingWindow(
  policy: SlidingWindowPolicy,
  state: SlidingWindowState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SlidingWindowState | undefined {
  if (chargedUntilMs === undefined) return chargeNow(policy, state, cost, nowMs);
  const blocks = blocksOf(policy);
  if (state?.blockMs !== policy.precisionMs || state.blocks !== blocks || nowMs >= chargedUntilMs) return state;
  const age = ageOf(state, chargedUntilMs);
  const more = Math.min(cost, MOST_UNITS - state.sum);
  if (more <= 0 || !Number.isInteger(age) || age < 0 || age > blocks) return state;
  const counts = [...state.counts, ...zeros(Math.max(age + 1 - state.counts.length, 0))];
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

/** The age of the block that stops counting at this instant, counted from the newest one. */
function ageOf({ lastMs, blockMs, blocks }: SlidingWindowState, untilMs: number): number {
  return (blockStart(lastMs, blockMs) - untilMs) / blockMs + blocks + 1;
}

export function usedOfSlidingWindow(policy: SlidingWindowPolicy, state: SlidingWindowState, nowMs: number): number {
  return sumOf(liveCounts(policy, state, nowMs));
}

/**
 * If the length and number of blocks do not change, units leave with the blocks in which they were consumed; else
 * they are consumed now.
 */
export function migrateSlidingWindow(
  policy: SlidingWindowPolicy,
  units: number,
  nowMs: number,
  from?: { readonly policy: SlidingWindowPolicy; readonly state: SlidingWindowState },
): SlidingWindowState {
  const blockMs = policy.precisionMs;
  const blocks = blocksOf(policy);
  const lastMs = from?.state.lastMs ?? nowMs;
  if (from?.policy.precisionMs !== blockMs || blocksOf(from.policy) !== blocks) {
    return { lastMs: Math.max(nowMs, lastMs), blockMs, blocks, sum: units, counts: [units] };
  }
  const counts = scaled(liveCounts(from.policy, from.state, nowMs), units);
  return { lastMs, blockMs, blocks, sum: units, counts: withoutTrailingZeros(counts) };
}

/** The counts of a state that still count in the window. */
function liveCounts(policy: SlidingWindowPolicy, state: SlidingWindowState, nowMs: number): readonly number[] {
  const { lastMs, counts } = inBlocksOf(policy, state);
  const blockMs = policy.precisionMs;
  const passed = (blockStart(Math.max(nowMs, lastMs), blockMs) - blockStart(lastMs, blockMs)) / blockMs;
  return counts.slice(0, Math.max(blocksOf(policy) + 1 - passed, 0));
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
  const { blockMs, blocks } = state;
  const policy: SlidingWindowPolicy = {
    algorithm: 'slidingWindow',
    limit: 1,
    windowMs: blockMs * blocks,
    precisionMs: blockMs,
  };
  return { used: usedOfSlidingWindow(policy, state, nowMs), resetAtMs: resetAtMs(policy, state) };
}

export function encodeSlidingWindow({ lastMs, blockMs, blocks, sum, counts }: SlidingWindowState): string {
  return [lastMs, blockMs, blocks, sum, ...counts].join(':');
}

export function decodeSlidingWindow(text: string): SlidingWindowState | undefined {
  const [lastMs, blockMs, blocks, sum, ...counts] = text.split(':').map(toInteger);
  if (lastMs === undefined || !blockMs || blocks === undefined || sum === undefined || counts.length === 0)
    return undefined;
  return counts.every((count) => count !== undefined) ? { lastMs, blockMs, blocks, sum, counts } : undefined;
}
