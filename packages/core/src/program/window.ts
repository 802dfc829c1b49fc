import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, type Nums, unused } from './numbers.ts';

// Fixed windows. A state has the window of the longest policy, and if policies with shorter windows take turns with it, one
// for those: each policy counts all units by a window of its own length, so that no one waits for the end of a longer one.

const EVERY = 4;
/** 1 if windows begin on the clock rather than at their first unit. */
const ON_CLOCK = 5;

/** When the longest window began, its length, its units, and the limit of the policy that wrote it. */
const START = 0;
const LENGTH = 1;
const UNITS = 2;
const ALLOWED = 3;
/** The window of the shorter policies. */
const PART = 4;
const PART_LENGTH = 5;
const PART_UNITS = 6;

function reads(s: Nums): boolean {
  if (s.length !== 4 && s.length !== 7) return false;
  if (!isWithin(s[START], 0, MAX_NUMBER) || !isWithin(s[LENGTH], 1, MAX_PERIOD)) return false;
  if (!isWithin(s[UNITS], s.length === 4 ? 1 : 0, MAX_COUNT) || !isWithin(s[ALLOWED], 0, MAX_COUNT)) return false;
  if (s.length === 4) return true;
  return (
    isWithin(s[PART], 0, MAX_NUMBER) && isWithin(s[PART_LENGTH], 1, s[LENGTH]) && isWithin(s[PART_UNITS], 0, MAX_COUNT)
  );
}

/** When a window of this policy begins that has a unit at t. */
function begin(p: Nums, t: number): number {
  return p[ON_CLOCK] === 1 ? t - (t % p[EVERY]) : t;
}

/** When the window that counts for this policy ends. */
function ownEnd(p: Nums, s: Nums): number {
  if (p[EVERY] >= s[LENGTH]) return s[START] + s[LENGTH];
  return s.length === 7 ? s[PART] + s[PART_LENGTH] : begin(p, s[START]) + p[EVERY];
}

function used(p: Nums, s: Nums, t: number): number {
  if (s.length === 0 || t >= ownEnd(p, s)) return 0;
  return s.length === 7 && p[EVERY] < s[LENGTH] ? s[PART_UNITS] : s[UNITS];
}

/**
 * Units that the longest window leaves to a shorter policy: together they allow no more than the larger of the two alone,
 * whose windows, if they are the shorter ones, may lie so that one more of them is touched.
 */
function leftBeside(p: Nums, s: Nums, t: number): number {
  if (s.length === 0 || p[EVERY] >= s[LENGTH] || t >= s[START] + s[LENGTH]) return MAX_NUMBER;
  return Math.max(s[ALLOWED], p[LIMIT] * (Math.ceil(s[LENGTH] / p[EVERY]) + 1)) - s[UNITS];
}

function left(p: Nums, s: Nums, t: number): number {
  return Math.min(p[LIMIT] - used(p, s, t), leftBeside(p, s, t));
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const end = s[START] + s[LENGTH];
  if (p[EVERY] >= s[LENGTH]) return t < end && s[UNITS] + units > p[LIMIT] ? end : t;
  const at = used(p, s, t) + units > p[LIMIT] ? ownEnd(p, s) : t;
  return leftBeside(p, s, t) < units ? Math.max(at, end) : at;
}

function emptyAt(p: Nums, s: Nums): number {
  return ownEnd(p, s);
}

function endsAt(s: Nums): number {
  const end = s[START] + s[LENGTH];
  return s.length === 7 ? Math.max(end, s[PART] + s[PART_LENGTH]) : end;
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const isOpen = s.length > 0 && t < s[START] + s[LENGTH];
  if (isOpen && s.length === 4 && s[LENGTH] === p[EVERY] && (until === 0 || until === s[START] + s[LENGTH])) {
    s[UNITS] = s[UNITS] + units;
    s[ALLOWED] = p[LIMIT];
    return s;
  }
  const before = used(p, s, t);
  const more = Math.min(units, MAX_COUNT - before);
  if (more <= 0 || (until > 0 && (before === 0 || until !== ownEnd(p, s)))) return s;
  const start = begin(p, t);
  if (!isOpen && (s.length !== 7 || t >= s[PART] + s[PART_LENGTH])) return [start, p[EVERY], more, p[LIMIT]] as Nums;
  return p[EVERY] < s[LENGTH] ? addBeside(p, s, before, more, t, isOpen) : addToLongest(p, s, more, t, start, isOpen);
}

/** Units of a policy that is shorter than the longest. */
function addBeside(p: Nums, s: Nums, before: number, more: number, t: number, isOpen: boolean): Nums {
  const after = [s[START], s[LENGTH], Math.min(s[UNITS] + more, MAX_COUNT), s[ALLOWED]] as Nums;
  if (!isOpen) {
    // The next long window begins, on the clock if the one before did.
    after[START] = s[START] % s[LENGTH] === 0 ? t - (t % s[LENGTH]) : t;
    after[UNITS] = more;
  }
  if (before === 0) after.push(begin(p, t), p[EVERY], more);
  else if (s.length === 4) after.push(begin(p, s[START]), p[EVERY], before + more);
  else after.push(s[PART], Math.max(p[EVERY], s[PART_LENGTH]), before + more);
  return after;
}

/** Units of the longest policy, while a window is open that is shorter than its own, or beside it. */
function addToLongest(p: Nums, s: Nums, more: number, t: number, start: number, isOpen: boolean): Nums {
  const after = [start, p[EVERY], more, p[LIMIT]] as Nums;
  if (isOpen) {
    // A longer window begins with the shorter one, or on the clock before it.
    const from = p[ON_CLOCK] === 1 && p[EVERY] > s[LENGTH] ? s[START] - (s[START] % p[EVERY]) : s[START];
    if (t < from + p[EVERY]) after[START] = from;
    after[UNITS] = Math.min(s[UNITS] + more, MAX_COUNT);
  }
  if (s.length === 7 && t < s[PART] + s[PART_LENGTH]) {
    after.push(s[PART], s[PART_LENGTH], Math.min(s[PART_UNITS] + more, MAX_COUNT));
  } else if (isOpen && p[EVERY] > s[LENGTH]) after.push(s[START], s[LENGTH], after[UNITS]);
  return after;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const before = used(p, s, t);
  if (before === 0 || (until > 0 && until !== ownEnd(p, s))) return s;
  const given = Math.min(units, before);
  s[UNITS] = Math.max(s[UNITS] - given, 0);
  if (s.length === 4) return s[UNITS] === 0 ? unused() : s;
  s[PART_UNITS] = p[EVERY] < s[LENGTH] ? before - given : Math.min(s[PART_UNITS], s[UNITS]);
  return s[UNITS] === 0 && s[PART_UNITS] === 0 ? unused() : s;
}

export const window: Family = { reads, used, left, freeAt, emptyAt, endsAt, add, give };
