import type {
  FixedWindowPolicy,
  IntervalBucketPolicy,
  LeakyBucketPolicy,
  Policy,
  SlidingCounterPolicy,
  SlidingLogPolicy,
  SlidingWindowPolicy,
  TokenBucketPolicy,
} from '@sluice/old-core';
import type { PolicyReply, Reply } from './history.ts';

/** Numbers for the state of a key under one policy; equal states decide alike. Empty: as if never used. */
export type State = readonly number[];

/**
 * One policy by the promises of design.md §5, over states that can be kept, compared and branched from, unlike
 * the models of ../laws/models. A test compares both.
 *
 * The clock never goes back. Numbers are as small as in the histories that are checked: nothing is rounded.
 */
export interface Rule {
  /** The most units at once. */
  readonly limit: number;
  readonly overdraft: number;
  /** Whether a request that this policy itself denies is charged all the same. */
  readonly countsDenied?: boolean;
  /** The state at a later instant, without what has expired by then. */
  later(state: State, atMs: number): State;
  /** Whole units left, below 0 for a debt. Here and below the state is that of `atMs`. */
  left(state: State, atMs: number): number;
  charge(state: State, cost: number, atMs: number): State;
  /** @param place - The policy's index in the refunded decision. */
  giveBack(state: State, cost: number, charge: Reply, place: number, atMs: number): State;
  /**
   * Instants to try first: those at which something must have happened after `fromMs` if `toMs` has this reply.
   * The instants between them mostly make no difference.
   */
  likely(fromMs: number, toMs: number, reported: readonly PolicyReply[]): readonly number[];
}

/** The instants of a clock that ticks at this interval, through that instant. */
function ticks(fromMs: number, toMs: number, everyMs: number, atMs = 0): number[] {
  const list = [];
  for (let ms = toMs - ((((toMs - atMs) % everyMs) + everyMs) % everyMs); ms >= fromMs; ms -= everyMs) list.push(ms);
  return list;
}

const UNUSED: State = [];

export function ruleOf(policy: Policy): Rule {
  switch (policy.algorithm) {
    case 'fixedWindow':
      return fixedWindowRule(policy);
    case 'slidingWindow':
      return slidingWindowRule(policy);
    case 'tokenBucket':
      return tokenBucketRule(policy);
    case 'intervalBucket':
      return intervalBucketRule(policy);
    case 'slidingCounter':
      return slidingCounterRule(policy);
    case 'leakyBucket':
      return leakyBucketRule(policy);
    case 'slidingLog':
      return slidingLogRule(policy);
    // is acquired and released, so its histories have another shape: see ../concurrency/processes.test.ts
    case 'concurrency':
      throw new Error(`no rule of ${policy.algorithm}`);
  }
}

/** Whether this many units, at least one, fit in a state of that instant. */
export function fits(rule: Rule, state: State, cost: number, atMs: number): boolean {
  const left = rule.left(state, atMs);
  return rule.overdraft === 0 ? left >= cost : left >= 1 && left - cost >= -rule.overdraft;
}

/** The state is the end of the window, and the units consumed in it. */
function fixedWindowRule({ limit, windowMs, align, countDenied = false }: FixedWindowPolicy): Rule {
  return {
    limit,
    overdraft: 0,
    countsDenied: countDenied,
    later: (state, atMs) => (atMs >= (state[0] ?? 0) ? UNUSED : state),
    left: ([, used = 0]) => limit - used,
    charge: ([end, used = 0], cost, atMs) => [
      end ?? atMs + windowMs - (align === 'clock' ? atMs % windowMs : 0),
      used + cost,
    ],
    giveBack([end, used = 0], cost, charge, place) {
      if (end === undefined) return UNUSED;
      const charged = charge.atMs + (charge.policies[place]?.resetAfterMs ?? 0);
      return [end, charged === end ? Math.max(used - cost, 0) : used];
    },
    likely: (fromMs, toMs, reported) =>
      align === 'clock'
        ? ticks(fromMs, toMs, windowMs)
        : reported.map(({ resetAfterMs }) => toMs + resetAfterMs - windowMs),
  };
}

/** The state is the instant of the latest charge, and which block of the clock holds how many units, block by block. */
function slidingWindowRule({ limit, windowMs, precisionMs }: SlidingWindowPolicy): Rule {
  const spanMs = Math.ceil(windowMs / precisionMs) * precisionMs;
  const indexOf = (atMs: number): number => Math.floor(atMs / precisionMs);
  const blocks = ([, ...list]: State): [number, number][] =>
    list.flatMap((block, i) => (i % 2 === 0 ? [[block, list[i + 1] ?? 0] as [number, number]] : []));
  const stateOf = (lastMs: number, list: readonly (readonly [number, number])[]): State => {
    const held = list.filter(([, units]) => units > 0);
    return held.length === 0 ? UNUSED : [lastMs, ...held.flat()];
  };
  const add = (state: State, lastMs: number, at: number, units: number): State => {
    const list = new Map(blocks(state));
    list.set(at, Math.max((list.get(at) ?? 0) + units, 0));
    return stateOf(lastMs, [...list]);
  };
  return {
    limit,
    overdraft: 0,
    // A block leaves a window after its last instant: the latest charge of the newest block, the end of any other.
    later(state, atMs) {
      const [lastMs = 0] = state;
      const endMs = (block: number): number => (block === indexOf(lastMs) ? lastMs : (block + 1) * precisionMs - 1);
      return stateOf(
        lastMs,
        blocks(state).filter(([block]) => atMs < endMs(block) + spanMs),
      );
    },
    left: (state) => limit - blocks(state).reduce((sum, [, units]) => sum + units, 0),
    charge: (state, cost, atMs) => add(state, atMs, indexOf(atMs), cost),
    giveBack: (state, cost, charge, _place, atMs) =>
      state[0] === undefined || atMs >= charge.atMs + spanMs
        ? state
        : add(state, state[0], indexOf(charge.atMs), -cost),
    likely: (fromMs, toMs, reported) => [
      ...ticks(fromMs, toMs, precisionMs),
      ...ticks(fromMs, toMs, precisionMs, -1),
      ...reported.map(({ resetAfterMs }) => toMs + resetAfterMs - spanMs),
    ],
  };
}

/** The state is which window of the clock, and how many units it and the one before it hold. */
function slidingCounterRule({ limit, windowMs }: SlidingCounterPolicy): Rule {
  const indexOf = (atMs: number): number => Math.floor(atMs / windowMs);
  const later = ([index = 0, current = 0, previous = 0]: State, atMs: number): State => {
    const passed = indexOf(atMs) - index;
    const after = passed === 0 ? [current, previous] : passed === 1 ? [0, current] : [0, 0];
    return after.every((units) => units === 0) ? UNUSED : [indexOf(atMs), ...after];
  };
  return {
    limit,
    overdraft: 0,
    later,
    left: ([, current = 0, previous = 0], atMs) =>
      limit - current - Math.ceil((previous * (windowMs - (atMs % windowMs))) / windowMs),
    charge: ([, current = 0, previous = 0], cost, atMs) => [indexOf(atMs), current + cost, previous],
    giveBack([index, current = 0, previous = 0], cost, charge, _place, atMs) {
      if (index === undefined) return UNUSED;
      const age = index - indexOf(charge.atMs);
      const back = (units: number, ofAge: number): number => (age === ofAge ? Math.max(units - cost, 0) : units);
      return later([index, back(current, 0), back(previous, 1)], atMs);
    },
    likely: (fromMs, toMs) => ticks(fromMs, toMs, windowMs),
  };
}

/** The state is which instant has how many units, by turns, oldest first. */
function slidingLogRule({ limit, windowMs }: SlidingLogPolicy): Rule {
  const entries = (state: State): [number, number][] =>
    state.flatMap((atMs, i) => (i % 2 === 0 ? [[atMs, state[i + 1] ?? 0] as [number, number]] : []));
  return {
    limit,
    overdraft: 0,
    later: (state, atMs) =>
      entries(state)
        .filter(([takenMs]) => takenMs > atMs - windowMs)
        .flat(),
    left: (state) => limit - entries(state).reduce((sum, [, units]) => sum + units, 0),
    charge(state, cost, atMs) {
      const newest = state.at(-2) === atMs;
      return newest ? [...state.slice(0, -1), (state.at(-1) ?? 0) + cost] : [...state, atMs, cost];
    },
    giveBack(state, cost, charge, place, atMs) {
      if (atMs >= charge.atMs + (charge.policies[place]?.resetAfterMs ?? 0)) return state;
      let left = cost;
      return entries(state)
        .map(([takenMs, units]): [number, number] => {
          const back = Math.min(left, units);
          left -= back;
          return [takenMs, units - back];
        })
        .filter(([, units]) => units > 0)
        .flat();
    },
    // The newest and the oldest unit were consumed then, and the one that comes back first.
    likely: (_fromMs, toMs, reported) =>
      reported
        .flatMap(({ resetAfterMs, nextAfterMs, retryAfterMs }) => [resetAfterMs, nextAfterMs ?? 0, retryAfterMs ?? 0])
        .map((afterMs) => toMs + afterMs - windowMs),
  };
}

/**
 * The state is what the level (in units times `every`) would be at instant 0, had the bucket always been as it is now.
 */
function tokenBucketRule({ capacity, refill, everyMs, overdraft }: TokenBucketPolicy): Rule {
  const full = capacity * everyMs;
  const later = (state: State, atMs: number): State => ((state[0] ?? full) + refill * atMs >= full ? UNUSED : state);
  return {
    limit: capacity,
    overdraft,
    later,
    left: ([level], atMs) => (level === undefined ? capacity : Math.floor((level + refill * atMs) / everyMs)),
    charge: ([level], cost, atMs) => [(level ?? full - refill * atMs) - cost * everyMs],
    giveBack: ([level], cost, _charge, _place, atMs) =>
      level === undefined ? UNUSED : later([level + cost * everyMs], atMs),
    // A full bucket was charged this many units then.
    likely: (_fromMs, toMs, reported) =>
      reported.flatMap(({ resetAfterMs }) =>
        Array.from({ length: capacity + overdraft }, (_, i) =>
          Math.floor(toMs + resetAfterMs - ((i + 1) * everyMs) / refill),
        ),
      ),
  };
}

/**
 * The state is the last boundary of a period, and what was missing from a full bucket then or has been consumed since.
 */
function intervalBucketRule({ capacity, refill, everyMs, overdraft }: IntervalBucketPolicy): Rule {
  return {
    limit: capacity,
    overdraft,
    later([boundary, missing = 0], atMs) {
      if (boundary === undefined) return UNUSED;
      const periods = Math.floor((atMs - boundary) / everyMs);
      return missing <= periods * refill ? UNUSED : [boundary + periods * everyMs, missing - periods * refill];
    },
    left: ([, missing = 0]) => capacity - missing,
    charge: ([boundary, missing = 0], cost, atMs) => [boundary ?? atMs, missing + cost],
    giveBack: ([boundary, missing = 0], cost) =>
      boundary === undefined || missing <= cost ? UNUSED : [boundary, missing - cost],
    likely: (fromMs, toMs, reported) =>
      reported.flatMap(({ resetAfterMs }) => ticks(fromMs, toMs, everyMs, toMs + resetAfterMs)),
  };
}

/** The state is when the next start is free, in units of a `limit`th of a millisecond. */
function leakyBucketRule({ limit, windowMs, maxDelayMs }: LeakyBucketPolicy): Rule {
  const longest = maxDelayMs * limit;
  const atOnce = Math.floor(longest / windowMs) + 1;
  const later = (state: State, atMs: number): State => ((state[0] ?? 0) <= atMs * limit ? UNUSED : state);
  return {
    limit: atOnce,
    overdraft: 0,
    later,
    left([free = 0], atMs) {
      const wait = Math.max(free - atMs * limit, 0);
      return wait > longest ? 0 : Math.floor((longest - wait) / windowMs) + 1;
    },
    charge: ([free = 0], cost, atMs) => [Math.max(free, atMs * limit) + cost * windowMs],
    giveBack([free], cost, charge, place, atMs) {
      if (free === undefined) return UNUSED;
      const charged = charge.atMs + (charge.policies[place]?.resetAfterMs ?? 0);
      return Math.ceil(free / limit) === charged ? later([free - cost * windowMs], atMs) : [free];
    },
    // This many units entered an empty queue then.
    likely: (_fromMs, toMs, reported) =>
      reported.flatMap(({ resetAfterMs }) =>
        Array.from({ length: atOnce }, (_, i) => Math.floor(toMs + resetAfterMs - ((i + 1) * windowMs) / limit)),
      ),
  };
}
