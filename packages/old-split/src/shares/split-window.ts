import { MOST_UNITS, type Algorithm, type Kernel, type PolicyBase } from '@sluice/old-core/spi';

/**
 * A share of a fixed window that follows the membership's clock. That clock is known as an interval, so near a
 * boundary the window may be this one or the next. Every window has a policy of its own.
 */
export interface SplitWindowPolicy extends PolicyBase {
  readonly algorithm: 'splitWindow';
  /** Units that this instance may allow in this window. */
  readonly limit: number;
  /** Units that this instance may allow in the next window. */
  readonly nextLimit: number;
  readonly windowMs: number;
  /** When this window ends, by the membership's clock. */
  readonly endMs: number;
  /** Whether the next window may have begun. Then allowed units are charged to both. */
  readonly mayHaveEnded: boolean;
  /** How far the membership's clock is ahead of `nowMs`, at least. */
  readonly aheadMs: number;
  readonly countDenied: boolean;
}

/** The units charged to a window, and to the one after it. */
export interface SplitWindowState {
  readonly endMs: number;
  readonly windowMs: number;
  readonly used: number;
  readonly usedNext: number;
  /** The smallest limit of each by which units were charged to it: a limit that is raised counts from the next on. */
  readonly least: number;
  readonly leastNext: number;
}

/**
 * Split window: charges units to every window that they may lie in. So no window of the true clock holds more than the
 * share, and an uncertain clock alone denies no request. In a window that has units, a limit only shrinks.
 */
const splitWindow: Kernel<SplitWindowPolicy, SplitWindowState> = (policy, state, cost, nowMs) => {
  const { windowMs, endMs, mayHaveEnded } = policy;
  const limit = Math.min(policy.limit, leastIn(endMs, policy, state));
  const nextLimit = Math.min(policy.nextLimit, leastIn(endMs + windowMs, policy, state));
  const used = usedIn(endMs, policy, state, nowMs);
  const usedNext = usedIn(endMs + windowMs, policy, state, nowMs);
  const fitsHere = cost <= limit - used;
  const fitsNext = cost <= nextLimit - usedNext;
  const allowed = cost === 0 || (fitsHere && (!mayHaveEnded || fitsNext));
  const charged = allowed && cost > 0;
  const usedAfter = charged ? used + cost : used;
  const usedNextAfter = charged && mayHaveEnded ? usedNext + cost : usedNext;
  const untilEndMs = endMs - policy.aheadMs - nowMs;
  const left = Math.max(limit - usedAfter, 0);
  const isFirst = usedAfter === 0 && (!mayHaveEnded || usedNextAfter === 0);

  const waitMs = fitsNext ? untilEndMs : untilEndMs + windowMs;
  return {
    state: charged
      ? { endMs, windowMs, used: usedAfter, usedNext: usedNextAfter, least: limit, leastNext: nextLimit }
      : state,
    verdict: {
      allowed,
      limit: policy.limit,
      remaining: mayHaveEnded ? Math.min(left, Math.max(nextLimit - usedNextAfter, 0)) : left,
      retryAfterMs: allowed ? 0 : cost <= nextLimit ? waitMs : null,
      // The end of the last window that the units are charged to: a refund finds them by it.
      resetAfterMs: isFirst ? 0 : mayHaveEnded ? untilEndMs + windowMs : untilEndMs,
      nextAfterMs: isFirst ? null : untilEndMs,
      delayMs: 0,
      used: usedAfter,
    },
  };
};

/**
 * The units that a state holds for the window that ends at `endMs`. A state of another window length counts until it
 * ends.
 */
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

/** The smallest limit by which a state charged units to the window that ends at `endMs`. */
function leastIn(endMs: number, { windowMs }: SplitWindowPolicy, state: SplitWindowState | undefined): number {
  if (state?.windowMs !== windowMs) return Infinity;
  if (state.endMs === endMs) return state.used > 0 ? state.least : Infinity;
  return state.endMs + windowMs === endMs && state.usedNext > 0 ? state.leastNext : Infinity;
}

function windowsOfNow(policy: SplitWindowPolicy, state: SplitWindowState | undefined, nowMs: number): SplitWindowState {
  const { endMs, windowMs, limit, nextLimit } = policy;
  const nextEndMs = endMs + windowMs;
  return {
    endMs,
    windowMs,
    used: usedIn(endMs, policy, state, nowMs),
    usedNext: usedIn(nextEndMs, policy, state, nowMs),
    least: Math.min(limit, leastIn(endMs, policy, state)),
    leastNext: Math.min(nextLimit, leastIn(nextEndMs, policy, state)),
  };
}

/** Refunds to the windows that were charged, if they have not ended. Without them, to those of now. */
function refund(
  policy: SplitWindowPolicy,
  state: SplitWindowState,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SplitWindowState {
  const { windowMs } = policy;
  if (chargedUntilMs === undefined) {
    const now = windowsOfNow(policy, state, nowMs);
    if (now.used + now.usedNext === 0) return state;
    return { ...now, used: Math.max(now.used - cost, 0), usedNext: Math.max(now.usedNext - cost, 0) };
  }
  const { endMs, used, usedNext } = state;
  const isBoth = chargedUntilMs === endMs + windowMs;
  if (state.windowMs !== windowMs || (!isBoth && chargedUntilMs !== endMs) || used === 0) return state;
  return {
    ...state,
    used: Math.max(used - cost, 0),
    usedNext: isBoth ? Math.max(usedNext - cost, 0) : usedNext,
  };
}

/** Charges the windows that were charged before, if they have not ended. Without them, those that may be now. */
function charge(
  policy: SplitWindowPolicy,
  state: SplitWindowState | undefined,
  cost: number,
  chargedUntilMs: number | undefined,
  nowMs: number,
): SplitWindowState | undefined {
  const { windowMs } = policy;
  if (chargedUntilMs === undefined) {
    const now = windowsOfNow(policy, state, nowMs);
    return {
      ...now,
      used: Math.min(now.used + cost, MOST_UNITS),
      usedNext: policy.mayHaveEnded ? Math.min(now.usedNext + cost, MOST_UNITS) : now.usedNext,
    };
  }
  if (state?.windowMs !== windowMs) return state;
  const { endMs, used, usedNext } = state;
  const isBoth = chargedUntilMs === endMs + windowMs;
  if (!isBoth && chargedUntilMs !== endMs) return state;
  return {
    ...state,
    used: Math.min(used + cost, MOST_UNITS),
    usedNext: isBoth ? Math.min(usedNext + cost, MOST_UNITS) : usedNext,
  };
}

/** Used only in memory: it is not in the list of algorithms, and its state has no text form. */
export const splitWindowAlgorithm: Algorithm<SplitWindowPolicy, SplitWindowState> = {
  name: 'splitWindow',
  kind: 'd',
  kernel: splitWindow,
  refund,
  charge,
  countsDenied: ({ countDenied }) => countDenied,
  used: (_policy, { used, usedNext }) => used + usedNext,
  migrate: ({ endMs, windowMs, limit, nextLimit }, units, _nowMs, from) =>
    from?.state ?? { endMs, windowMs, used: units, usedNext: units, least: limit, leastNext: nextLimit },
  resetAtMs: ({ aheadMs }, { endMs, windowMs, usedNext }) => (usedNext > 0 ? endMs + windowMs : endMs) - aheadMs,
  encode: unwritten,
  decode: () => undefined,
  numbers: ({ limit, windowMs }) => [limit, windowMs],
  windowMs: ({ windowMs }) => windowMs,
  share: (policy) => policy,
  written: unwritten,
  parse: (policy) => policy,
};

function unwritten(): never {
  throw new Error('a split window is never written as text');
}
