import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, moveFirst, type Nums, unused } from './numbers.ts';

// Fixed windows. A state has the window of the longest policy, and if policies with shorter windows take turns with it,
// one for those: each policy counts all units by a window of its own length, so no request waits for the end of a
// longer one.

const EVERY = 4;
/** 1 if windows are aligned to the clock rather than to their first unit. */
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

/** When the window of this policy that contains t begins. */
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
 * Units that the longest window leaves to a shorter policy: while its own policy takes turns, the larger of both limits
 * applies to all in it.
 */
function leftBeside(p: Nums, s: Nums, t: number): number {
  if (s.length === 0 || p[EVERY] >= s[LENGTH] || s[ALLOWED] === 0 || t >= s[START] + s[LENGTH]) return MAX_NUMBER;
  return Math.max(s[ALLOWED], p[LIMIT]) - s[UNITS];
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

function move(s: Nums, t: number): boolean {
  const isMoved = moveFirst(s, t);
  if (s.length === 7 && s[PART] > t) {
    s[PART] = t;
    return true;
  }
  return isMoved;
}

function emptyAt(p: Nums, s: Nums): number {
  return ownEnd(p, s);
}

function endsAt(s: Nums): number {
  const end = s[START] + s[LENGTH];
  return s.length === 7 ? Math.max(end, s[PART] + s[PART_LENGTH]) : end;
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (until > 0 && (used(p, s, t) === 0 || until !== ownEnd(p, s))) return s;
  if (s.length === 0) return [begin(p, t), p[EVERY], units, p[LIMIT]] as Nums;
  const after = s.length === 4 && p[EVERY] === s[LENGTH] ? s : open(p, s, t);
  after[UNITS] = Math.min(after[UNITS] + units, MAX_COUNT);
  if (p[EVERY] === after[LENGTH]) after[ALLOWED] = p[LIMIT];
  if (after.length === 7) after[PART_UNITS] = Math.min(after[PART_UNITS] + units, MAX_COUNT);
  return after;
}

/** The windows, of two lengths, that count units at t. */
function open(p: Nums, s: Nums, t: number): Nums {
  const isOpen = t < s[START] + s[LENGTH];
  const isShorter = p[EVERY] < s[LENGTH];
  // A longer window begins with the shorter one.
  let start = p[EVERY] > s[LENGTH] ? begin(p, s[START]) : s[START];
  const length = Math.max(p[EVERY], s[LENGTH]);
  if (t >= start + length) start = isShorter ? restart(s[START], length, t) : begin(p, t);
  const after = [start, length, isOpen ? s[UNITS] : 0, isOpen ? s[ALLOWED] : 0] as Nums;
  const isOne = s.length === 4;
  const part = isOne ? (isShorter ? begin(p, s[START]) : s[START]) : s[PART];
  const partLength = isOne ? Math.min(p[EVERY], s[LENGTH]) : s[PART_LENGTH];
  if (t < part + partLength) {
    after.push(part, isShorter ? Math.max(p[EVERY], partLength) : partLength, isOne ? s[UNITS] : s[PART_UNITS]);
  } else if (isShorter) after.push(begin(p, t), p[EVERY], 0);
  else after.push(restart(part, partLength, t), partLength, 0);
  return after;
}

/** When the window after this one begins: on the clock, if this one did. */
function restart(start: number, length: number, t: number): number {
  return start % length === 0 ? t - (t % length) : t;
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

/** The limit by which units were last counted in the window that ends at this instant; Infinity if there is none. */
export function limitUntil(s: Nums, end: number): number {
  return s[START] + s[LENGTH] === end ? s[ALLOWED] : Infinity; // an empty state ends at no instant
}

export const window: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
