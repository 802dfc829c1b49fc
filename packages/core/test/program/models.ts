import type { Policy } from '../../src/policies/index.ts';

/** One key under one policy by what the policy promises: it keeps every unit that was taken, and looks through all of them. */
export interface Model {
  /** Units that are used at t; those of a bucket may be a part of one. */
  used(t: number): number;
  /** Whole units that are left at t; below 0 in overdraft. */
  left(t: number): number;
  /** Units that are left of an unused key. */
  readonly limit: number;
  /** How many units a request may take beyond what is left, if a unit is. */
  readonly overdraft?: number;
  take(units: number, t: number): void;
  /** How long a request that a leaky bucket allows at t waits for its start. */
  delay?(t: number): number;
}

interface Taken {
  readonly at: number;
  readonly units: number;
}

const sum = (taken: readonly Taken[]): number => taken.reduce((units, one) => units + one.units, 0);

/** Units count until an instant of their own, and never again. */
function counting(limit: number, leavesAt: (one: Taken, all: readonly Taken[]) => number): Model {
  let all: Taken[] = [];
  const inside = (t: number): Taken[] => all.filter((one) => leavesAt(one, all) > t);
  return {
    limit,
    used: (t) => sum(inside(t)),
    left: (t) => limit - sum(inside(t)),
    take: (units, at) => void (all = [...inside(at), { at, units }]),
  };
}

function fixedWindow(limit: number, windowMs: number, onClock: boolean): Model {
  const begin = (at: number): number => (onClock ? at - (at % windowMs) : at);
  return counting(limit, (one, all) => {
    let end = 0;
    for (const { at } of all) if (at >= end && at <= one.at) end = begin(at) + windowMs;
    return end;
  });
}

/**
 * A window is a whole number of blocks, at least as long as was asked for. The units of the newest block leave a window
 * after the last of them, others a window after the end of their block.
 */
function slidingWindow(limit: number, windowMs: number, blockMs: number): Model {
  const block = (at: number): number => Math.floor(at / blockMs);
  return counting(limit, (one, all) => {
    const newest = Math.max(...all.map(({ at }) => at));
    const keptMs = Math.ceil(windowMs / blockMs) * blockMs;
    return keptMs + (block(one.at) === block(newest) ? newest : (block(one.at) + 1) * blockMs - 1);
  });
}

function slidingCounter(limit: number, windowMs: number): Model {
  const all: Taken[] = [];
  const inWindow = (index: number): number => sum(all.filter(({ at }) => Math.floor(at / windowMs) === index));
  const used = (t: number): number => {
    const index = Math.floor(t / windowMs);
    return inWindow(index) + Math.ceil((inWindow(index - 1) * (windowMs - (t % windowMs))) / windowMs);
  };
  return { limit, used, left: (t) => limit - used(t), take: (units, at) => void all.push({ at, units }) };
}

/** What is missing from a full bucket, in parts of which a unit has as many as `everyMs`: `refill` come back each millisecond. */
function bucket(capacity: number, refill: number, everyMs: number, overdraft: number, isInterval: boolean): Model {
  let [missing, since] = [0, 0];
  const at = (t: number): number => {
    const passed = isInterval ? Math.floor((t - since) / everyMs) * everyMs : t - since;
    return Math.max(missing - passed * refill, 0);
  };
  return {
    limit: capacity,
    overdraft,
    used: (t) => at(t) / everyMs,
    left: (t) => Math.floor((capacity * everyMs - at(t)) / everyMs),
    take(units, t) {
      const before = at(t);
      since = isInterval && before > 0 ? t - ((t - since) % everyMs) : t;
      missing = before + units * everyMs;
    },
  };
}

/** Starts are `windowMs / limit` apart; times are counted in parts of a millisecond, `limit` of them. */
function leakyBucket(limit: number, windowMs: number, maxDelayMs: number): Model {
  let next = 0;
  const ahead = (t: number): number => Math.max(next - t * limit, 0);
  return {
    limit: Math.floor((maxDelayMs * limit) / windowMs) + 1,
    used: (t) => ahead(t) / windowMs,
    left: (t) => Math.floor((maxDelayMs * limit - ahead(t)) / windowMs) + 1,
    take: (units, t) => void (next = t * limit + ahead(t) + units * windowMs),
    delay: (t) => Math.ceil(ahead(t) / limit),
  };
}

export function modelOf(policy: Policy): Model {
  switch (policy.algorithm) {
    case 'fixedWindow':
      return fixedWindow(policy.limit, policy.windowMs, policy.align === 'clock');
    case 'slidingWindow':
      return slidingWindow(policy.limit, policy.windowMs, policy.precisionMs);
    case 'slidingCounter':
      return slidingCounter(policy.limit, policy.windowMs);
    case 'slidingLog':
      return counting(policy.limit, ({ at }) => at + policy.windowMs);
    case 'concurrency':
      return counting(policy.limit, ({ at }) => at + policy.ttlMs);
    case 'leakyBucket':
      return leakyBucket(policy.limit, policy.windowMs, policy.maxDelayMs);
    case 'tokenBucket':
    case 'intervalBucket': {
      const { capacity, refill, everyMs, overdraft, algorithm } = policy;
      return bucket(capacity, refill, everyMs, overdraft, algorithm === 'intervalBucket');
    }
  }
}

const HORIZON_MS = 2 ** 46;

/** In how many ms it holds first; once it does, it holds for ever. */
export function firstWait(holds: (wait: number) => boolean): number {
  if (holds(0)) return 0;
  let [no, yes] = [0, HORIZON_MS];
  while (no + 1 < yes) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** In how many ms this many units fit that are asked for at t; -1 if they never do. */
export function waitFor({ limit, overdraft = 0, left }: Model, units: number, t: number): number {
  if (units === 0) return 0;
  const needed = overdraft > 0 ? Math.max(units - overdraft, 1) : units;
  return needed > limit ? -1 : firstWait((wait) => left(t + wait) >= needed);
}

/** What is left, what is used, when nothing is, and when one more unit is left: -1 if that cannot be known. */
export function describeModel({ limit, left, used }: Model, t: number, isHeld: boolean): readonly number[] {
  const remaining = Math.max(left(t), 0);
  const isKnown = used(t) > 0 && remaining < limit && !isHeld;
  const next = isKnown ? firstWait((wait) => left(t + wait) > remaining) : -1;
  return [remaining, Math.ceil(used(t)), firstWait((wait) => used(t + wait) === 0), next];
}
