import type { Family } from './family.ts';
import { LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, type Nums, unused } from './numbers.ts';

// Fixed windows, and buckets that are refilled at intervals: a fixed window is a bucket that is refilled at once. A window
// keeps its end, whatever the numbers of the policy that reads it. A full bucket has no state.

/** Units that come back at the end of a period, and its length. */
const REFILL = 4;
const EVERY = 5;
/** 1 if windows begin on the clock rather than at their first unit. */
const ON_CLOCK = 6;
/** 1 for a fixed window. */
const IS_FIXED = 7;

/** When the period began, how long it is, the units that are used, and REFILL and EVERY of the policy that wrote it. */
const START = 0;
const LENGTH = 1;
const UNITS = 2;
const BACK = 3;
const PERIOD = 4;

function reads(s: Nums): boolean {
  if (s.length !== 3 && s.length !== 5) return false;
  if (s.length === 5 && (s[BACK] < 1 || s[BACK] > MAX_NUMBER || s[PERIOD] < 1 || s[PERIOD] > MAX_PERIOD)) return false;
  if (s[START] < 0 || s[START] > MAX_NUMBER) return false;
  return s[LENGTH] >= 1 && s[LENGTH] <= MAX_PERIOD && s[UNITS] >= 1 && s[UNITS] <= MAX_COUNT;
}

/** The first end of a period after t. */
function nextEnd(p: Nums, s: Nums, t: number): number {
  const end = s[START] + s[LENGTH];
  return t < end ? end : end + (Math.floor((t - end) / p[EVERY]) + 1) * p[EVERY];
}

function used(p: Nums, s: Nums, t: number): number {
  if (s.length === 0) return 0;
  const end = s[START] + s[LENGTH];
  if (t < end) return s[UNITS];
  return Math.max(s[UNITS] - (Math.floor((t - end) / p[EVERY]) + 1) * p[REFILL], 0);
}

function left(p: Nums, s: Nums, t: number): number {
  return p[LIMIT] - used(p, s, t);
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const beyond = used(p, s, t) + units - p[LIMIT];
  return beyond > 0 ? nextEnd(p, s, t) + (Math.ceil(beyond / p[REFILL]) - 1) * p[EVERY] : t;
}

function emptyAt(p: Nums, s: Nums): number {
  return s[START] + s[LENGTH] + (Math.ceil(s[UNITS] / p[REFILL]) - 1) * p[EVERY];
}

function endsAt(s: Nums): number {
  const end = s[START] + s[LENGTH];
  return s.length === 5 ? end + (Math.ceil(s[UNITS] / s[BACK]) - 1) * s[PERIOD] : end;
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const before = used(p, s, t);
  const isGone = p[IS_FIXED] === 1 && until > 0 && (before === 0 || s[START] + s[LENGTH] !== until);
  // As many as come back before MAX_COUNT ms have passed.
  const max = p[IS_FIXED] === 1 ? MAX_COUNT : Math.min(Math.floor(MAX_COUNT / p[EVERY]) * p[REFILL], MAX_COUNT);
  const after = Math.min(before + units, max);
  if (isGone || after <= before) return s;
  if (before === 0 && p[IS_FIXED] === 1) return [p[ON_CLOCK] === 1 ? t - (t % p[EVERY]) : t, p[EVERY], after] as Nums;
  if (before === 0) return [t, p[EVERY], after, p[REFILL], p[EVERY]] as Nums;
  // A longer window holds what a shorter one began, so that units of both are not allowed twice.
  if (p[IS_FIXED] === 1) s[LENGTH] = Math.max(s[LENGTH], p[EVERY]);
  return written(p, s, after, t);
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const before = used(p, s, t);
  if (before === 0 || (p[IS_FIXED] === 1 && until > 0 && s[START] + s[LENGTH] !== until)) return s;
  return before > units ? written(p, s, before - units, t) : unused();
}

function written(p: Nums, s: Nums, units: number, t: number): Nums {
  if (p[IS_FIXED] !== 1) {
    const end = nextEnd(p, s, t);
    if (end > s[START] + s[LENGTH]) {
      s[START] = end - p[EVERY];
      s[LENGTH] = p[EVERY];
    }
    s[BACK] = p[REFILL];
    s[PERIOD] = p[EVERY];
  }
  s[UNITS] = units;
  return s;
}

export const window: Family = { reads, used, left, freeAt, emptyAt, endsAt, add, give };
