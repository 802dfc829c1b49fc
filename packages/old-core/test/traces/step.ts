import type { PolicyDecision } from '@sluice/old-core';
import type { Random } from '@sluice/testkit';

/** One operation on numbered keys. All steps of one batch have one instant. */
export type Step =
  | { readonly op: 'consume' | 'peek'; readonly parts: readonly { readonly key: number; readonly cost: number }[] }
  /** Refunds some units of step number `of`, on its first key. */
  | { readonly op: 'refund'; readonly of: number; readonly cost: number }
  /** Charges more units for step number `of`, on its first key. */
  | { readonly op: 'charge'; readonly of: number; readonly cost: number }
  /** Refunds the newest units of a key, or charges it with units that are used now. */
  | { readonly op: 'refund key' | 'charge key'; readonly key: number; readonly cost: number }
  | { readonly op: 'reset' | 'unblock'; readonly key: number }
  | { readonly op: 'block'; readonly key: number; readonly durationMs: number; readonly reset: boolean };

/** The state that a trace uses to come close to edge cases. */
export interface Surroundings {
  /** Of the first policy of each key, as it was last seen. */
  readonly lastSeen: readonly PolicyDecision[];
  /** Numbers of the steps that consumed units. */
  readonly taken: readonly number[];
  readonly mayGoBack: boolean;
  /** The waits until denial counts are forgotten. */
  readonly forgottenAfterMs?: readonly number[];
}

/** Far enough ahead of any server's clock that nothing expires while a trace runs: the year 2100. */
export const START_MS = 4_102_444_800_000;
/** No step is longer, so that instants stay whole numbers. */
const LONGEST_STEP_MS = 100_000_000_000;

/**
 * The next instant: the same, the next ones, edges of windows and waits with a millisecond on either side, far ahead,
 * or back.
 */
export function nextInstant(
  random: Random,
  atMs: number,
  { lastSeen, mayGoBack, forgottenAfterMs = [] }: Surroundings,
): number {
  const [forgottenMs, ...others] = forgottenAfterMs;
  if (forgottenMs !== undefined && random.percent(10)) {
    const aheadMs = random.pick([forgottenMs, ...others]) + random.pick([-1, 0, 1]);
    return atMs + Math.max(aheadMs, 0);
  }
  const { windowMs, limit, retryAfterMs, resetAfterMs, nextAfterMs } = random.pick(
    lastSeen as [PolicyDecision, ...PolicyDecision[]],
  );
  const window = Math.min(windowMs, LONGEST_STEP_MS);
  const edge = random.pick([-1, 0, 1]);
  const aheadMs = random.pick<() => number>([
    () => 0,
    () => 0,
    () => 0,
    () => random.integer(1, 3),
    () => random.integer(1, Math.max(Math.ceil(window / Math.max(Math.min(limit, 1_000), 1)), 1)),
    () => random.integer(1, window),
    () => (retryAfterMs ?? 0) + edge,
    () => (nextAfterMs ?? 0) + edge,
    () => resetAfterMs + edge,
    () => window - (atMs % window) + edge,
    () => 2 * window + random.integer(0, window),
    () => (mayGoBack ? -random.integer(1, random.pick([3, window])) : 0),
  ])();
  return Math.max(atMs + Math.min(aheadMs, LONGEST_STEP_MS), mayGoBack ? START_MS : atMs);
}

/** The next step: mostly a consume, with a cost around what is left or around the limit. */
export function nextStep(random: Random, { lastSeen, taken }: Surroundings): Step {
  const key = random.integer(0, lastSeen.length - 1);
  const { windowMs } = lastSeen[key] as PolicyDecision;
  if (random.percent(3)) return { op: 'reset', key };
  if (random.percent(2))
    return {
      op: 'block',
      key,
      durationMs: random.integer(1, Math.min(windowMs, LONGEST_STEP_MS)),
      reset: random.percent(30),
    };
  if (random.percent(4)) return { op: 'unblock', key };
  if (random.percent(9) && taken.length > 0)
    return { op: 'refund', of: lately(random, taken), cost: random.integer(1, 5) };
  if (random.percent(6) && taken.length > 0)
    return { op: 'charge', of: lately(random, taken), cost: beyond(random, lastSeen[key] as PolicyDecision) };

  if (random.percent(4)) return { op: 'refund key', key, cost: beyond(random, lastSeen[key] as PolicyDecision) };
  if (random.percent(4)) return { op: 'charge key', key, cost: beyond(random, lastSeen[key] as PolicyDecision) };

  const keys = random.percent(70) ? [key] : lastSeen.map((_, other) => other);
  const same = costFor(random, lastSeen[key] as PolicyDecision);
  return { op: random.percent(88) ? 'consume' : 'peek', parts: keys.map((other) => ({ key: other, cost: same })) };
}

function costFor(random: Random, { limit, remaining }: PolicyDecision): number {
  return random.pick<number>([
    0,
    1,
    1,
    1,
    1,
    2,
    3,
    Math.ceil(limit / 3),
    limit,
    limit + 1,
    limit + 7,
    2 * limit,
    remaining,
    remaining + 1,
    Number.MAX_SAFE_INTEGER,
  ]);
}

/** Mostly small; seldom more than can be counted. */
function beyond(random: Random, { limit }: PolicyDecision): number {
  if (random.percent(2)) return random.pick([Number.MAX_SAFE_INTEGER, 2 ** 52, 2 ** 52 - 1]);
  return random.pick([1, 1, 2, random.integer(1, 5), Math.ceil(limit / 2), limit, 3 * limit]);
}

/** One of the last few, or any. */
function lately(random: Random, taken: readonly number[]): number {
  const from = random.percent(70) ? Math.max(taken.length - 4, 0) : 0;
  return taken[random.integer(from, taken.length - 1)] as number;
}
