import { MOST_UNITS } from '../../numbers.ts';
import type { Algorithm, Kernel, PolicyBase } from '../../algorithms/algorithm.ts';

/**
 * A share of a fixed window on the clock of others, which is known to lie between two instants: near a boundary it may
 * be this window or the next one. Made anew for every window.
 */
export interface SplitWindowPolicy extends PolicyBase {
  readonly algorithm: 'splitWindow';
  /** Units that this instance may admit in this window. */
  readonly limit: number;
  /** Units that it may admit in the next one. */
  readonly nextLimit: number;
  readonly windowMs: number;
  /** When this window ends, by the clock of the windows. */
  readonly endMs: number;
  /** Whether it may be the next window by now: what is admitted is charged to both. */
  readonly mayBeOver: boolean;
  /** What the clock of the windows says beyond `nowMs`, at least. */
  readonly aheadMs: number;
}

/** The units of a window, and those of the one after it that have been charged already. */
export interface SplitWindowState {
  readonly endMs: number;
  readonly windowMs: number;
  readonly used: number;
  readonly usedNext: number;
}

/**
 * Split window: counts units in every window that they may lie in, so that no window of the true clock holds more than
 * the share, and nobody is refused for not knowing the time.
 */
const splitWindow: Kernel<SplitWindowPolicy, SplitWindowState> = (policy, state, cost, nowMs) => {
  const { limit, nextLimit, windowMs, endMs, mayBeOver } = policy;
  const used = usedIn(endMs, policy, state, nowMs);
  const usedNext = usedIn(endMs + windowMs, policy, state, nowMs);
  const fitsHere = cost <= limit - used;
  const fitsNext = cost <= nextLimit - usedNext;
  const allowed = cost === 0 || (fitsHere && (!mayBeOver || fitsNext));
  const charged = allowed && cost > 0;
  const usedAfter = charged ? used + cost : used;
  const usedNextAfter = charged && mayBeOver ? usedNext + cost : usedNext;
  const untilEndMs = endMs - policy.aheadMs - nowMs;
  const left = Math.max(limit - usedAfter, 0);
  const isFirst = usedAfter === 0 && (!mayBeOver || usedNextAfter === 0);

  const waitMs = fitsNext ? untilEndMs : untilEndMs + windowMs;
  return {
    state: charged ? { endMs, windowMs, used: usedAfter, usedNext: usedNextAfter } : state,
    verdict: {
      allowed,
      limit,
      remaining: mayBeOver ? Math.min(left, Math.max(nextLimit - usedNextAfter, 0)) : left,
      retryAfterMs: allowed ? 0 : cost <= nextLimit ? waitMs : null,
      // The end of the last window that the units of this moment are charged to: by it a refund knows them.
      resetAfterMs: isFirst ? 0 : mayBeOver ? untilEndMs + windowMs : untilEndMs,
      nextAfterMs: isFirst ? null : untilEndMs,
      delayMs: 0,
    },
  };
};

/** What a state says was used in the window that ends then. One of other windows counts as long as it lasts. */
function usedIn(
  endMs: number,
  { windowMs, aheadMs }: SplitWindowPolicy,
  state: SplitWindowState | undefined,
  nowMs: number,
): number {
  if (state === undefined) return 0;
  if (state.windowMs !== windowMs) {
    return state.endMs + state.windowMs > nowMs + aheadMs ? state.used + state.usedNext : 0;
  }
  if (state.endMs === endMs) return state.used;
  return state.endMs + windowMs === endMs ? state.usedNext : 0;
}

/** Gives back to the windows that were charged, as far as they are not over. */
function refund(
  { windowMs }: SplitWindowPolicy,
  state: SplitWindowState,
  cost: number,
  chargedUntilMs: number,
): SplitWindowState {
  const { endMs, used, usedNext } = state;
  const isBoth = chargedUntilMs === endMs + windowMs;
  if (state.windowMs !== windowMs || (!isBoth && chargedUntilMs !== endMs) || used === 0) return state;
  return {
    endMs,
    windowMs,
    used: Math.max(used - cost, 0),
    usedNext: isBoth ? Math.max(usedNext - cost, 0) : usedNext,
  };
}

/** Charges the windows that were charged, as far as they are not over. */
function charge(
  { windowMs }: SplitWindowPolicy,
  state: SplitWindowState | undefined,
  cost: number,
  chargedUntilMs: number,
): SplitWindowState | undefined {
  if (state?.windowMs !== windowMs) return state;
  const { endMs, used, usedNext } = state;
  const isBoth = chargedUntilMs === endMs + windowMs;
  if (!isBoth && chargedUntilMs !== endMs) return state;
  return {
    endMs,
    windowMs,
    used: Math.min(used + cost, MOST_UNITS),
    usedNext: isBoth ? Math.min(usedNext + cost, MOST_UNITS) : usedNext,
  };
}

/** Never in Redis, so it is in no registry, and its state is never text. */
export const splitWindowAlgorithm: Algorithm<SplitWindowPolicy, SplitWindowState> = {
  name: 'splitWindow',
  kind: 'd',
  kernel: splitWindow,
  refund,
  charge,
  used: (_policy, { used, usedNext }) => used + usedNext,
  carry: (policy, units, _nowMs, from) =>
    from?.state ?? { endMs: policy.endMs, windowMs: policy.windowMs, used: units, usedNext: units },
  resetAtMs: ({ aheadMs }, { endMs, windowMs, usedNext }) => (usedNext > 0 ? endMs + windowMs : endMs) - aheadMs,
  encode: unwritten,
  decode: () => undefined,
  numbers: ({ limit, windowMs }) => [limit, windowMs],
  windowMs: ({ windowMs }) => windowMs,
  share: (policy) => policy,
  parse: (policy) => policy,
};

function unwritten(): never {
  throw new Error('a split window is never written as text');
}
