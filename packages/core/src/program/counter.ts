import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, moveFirst, type Nums, unused } from './numbers.ts';

// Sliding counters: the units of a window on the clock count in full until it ends, and then less and less for as long
// again. As with fixed windows, a state counts by the longest window, and beside it by that of the shorter policies.

const WINDOW = 4;

/** The latest window: its start, its length, its units, and those of the window before. */
const START = 0;
const LENGTH = 1;
const UNITS = 2;
const BEFORE = 3;
/** The limit of the policy that wrote it. */
const ALLOWED = 4;
/** The same four numbers for shorter policies, if there are any. */
const PART = 5;

function reads(s: Nums): boolean {
  if (s.length !== 5 && s.length !== 9) return false;
  return areCounts(s, 0) && isWithin(s[ALLOWED], 0, MAX_COUNT) && (s.length === 5 || areCounts(s, PART));
}

function areCounts(s: Nums, from: number): boolean {
  const length = s[from + LENGTH] as number;
  const max = Math.min(Math.floor(MAX_NUMBER / length), MAX_COUNT);
  if (!isWithin(s[from] as number, 0, MAX_NUMBER) || !isWithin(length, 1, MAX_PERIOD)) return false;
  return isWithin(s[from + UNITS] as number, 0, max) && isWithin(s[from + BEFORE] as number, 0, max);
}

/** What still counts at t of the window stored at this place. */
function counted(s: Nums, from: number, t: number): number {
  const length = s[from + LENGTH] as number;
  const left = (s[from] as number) + length - t;
  if (left > 0) return (s[from + UNITS] as number) + Math.ceil(((s[from + BEFORE] as number) * left) / length);
  return left + length > 0 ? Math.ceil(((s[from + UNITS] as number) * (left + length)) / length) : 0;
}

/** From when at most `room` units count. */
function countedFrom(s: Nums, from: number, room: number, t: number): number {
  if (counted(s, from, t) <= room) return t;
  const length = s[from + LENGTH] as number;
  const units = s[from + UNITS] as number;
  const end = (s[from] as number) + length;
  if (units <= room) return end - Math.floor(((room - units) * length) / (s[from + BEFORE] as number));
  return end + length - Math.floor((room * length) / units);
}

/** The place of this policy's window; -1 if the state has none of its length. */
function placeOf(p: Nums, s: Nums): number {
  if (s[LENGTH] === p[WINDOW]) return 0;
  return s.length === 9 && s[PART + LENGTH] === p[WINDOW] ? PART : -1;
}

/** The state as one window of this policy's length, with the units of windows of other lengths. */
function own(p: Nums, s: Nums): Nums {
  const from = placeOf(p, s);
  if (from >= 0) return [s[from], s[from + LENGTH], s[from + UNITS], s[from + BEFORE], p[LIMIT]] as Nums;
  const start = s[START] - (s[START] % p[WINDOW]);
  const after = [start, p[WINDOW], s[UNITS], 0, p[LIMIT]] as Nums;
  // What counted before a longer window began is part of the previous one; what an earlier long window held is gone.
  if (p[WINDOW] > s[LENGTH] && start === s[START]) after[BEFORE] = s[BEFORE];
  else if (p[WINDOW] > s[LENGTH]) after[UNITS] = after[UNITS] + s[BEFORE];
  return after;
}

function used(p: Nums, s: Nums, t: number): number {
  if (s.length === 0) return 0;
  return s[LENGTH] === p[WINDOW] ? counted(s, 0, t) : counted(own(p, s), 0, t);
}

/**
 * What the longest window may count for a shorter policy: the larger of both limits, while its own policy takes turns.
 */
function maxBeside(p: Nums, s: Nums): number {
  return s[ALLOWED] > 0 && p[WINDOW] < s[LENGTH] ? Math.max(s[ALLOWED], p[LIMIT]) : MAX_NUMBER;
}

function left(p: Nums, s: Nums, t: number): number {
  const free = p[LIMIT] - used(p, s, t);
  return s.length === 0 ? free : Math.min(free, maxBeside(p, s) - counted(s, 0, t));
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  if (s[LENGTH] === p[WINDOW]) return countedFrom(s, 0, p[LIMIT] - units, t);
  const at = countedFrom(own(p, s), 0, p[LIMIT] - units, t);
  return Math.max(at, countedFrom(s, 0, maxBeside(p, s) - units, t));
}

function goneAt(s: Nums, from: number): number {
  const end = (s[from] as number) + (s[from + LENGTH] as number);
  if ((s[from + UNITS] as number) > 0) return end + (s[from + LENGTH] as number);
  return (s[from + BEFORE] as number) > 0 ? end : 0;
}

function move(s: Nums, t: number): boolean {
  const isMoved = moveFirst(s, t);
  if (s.length === 9 && s[PART] > t) {
    s[PART] = t;
    return true;
  }
  return isMoved;
}

function emptyAt(p: Nums, s: Nums): number {
  return s[LENGTH] === p[WINDOW] ? goneAt(s, 0) : goneAt(own(p, s), 0);
}

function endsAt(s: Nums): number {
  return s.length === 9 ? Math.max(goneAt(s, 0), goneAt(s, PART)) : goneAt(s, 0);
}

/** Adds units at t to the window stored at this place, or to a later one: as many as can be weighed exactly. */
function count(s: Nums, from: number, units: number, t: number): void {
  const length = s[from + LENGTH] as number;
  const end = (s[from] as number) + length;
  if (t >= end) {
    s[from + BEFORE] = t < end + length ? (s[from + UNITS] as number) : 0;
    s[from + UNITS] = 0;
    s[from] = t - (t % length);
  }
  s[from + UNITS] = Math.min((s[from + UNITS] as number) + units, MAX_COUNT, Math.floor(MAX_NUMBER / length));
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (until > 0) return t >= until || used(p, s, t) === 0 ? s : edited(p, s, units, until);
  if (s.length === 0) {
    const first = [t - (t % p[WINDOW]), p[WINDOW], 0, 0, p[LIMIT]] as Nums;
    count(first, 0, units, t);
    return first;
  }
  const after = s.length === 5 && s[LENGTH] === p[WINDOW] ? s : open(p, s);
  // In a window from which the longest policy has taken nothing, it bounds no other.
  if (t >= after[START] + after[LENGTH]) after[ALLOWED] = 0;
  if (p[WINDOW] === after[LENGTH]) after[ALLOWED] = p[LIMIT];
  count(after, 0, units, t);
  if (after.length === 9) count(after, PART, units, t);
  return after;
}

/** The windows of two lengths. */
function open(p: Nums, s: Nums): Nums {
  const mine = own(p, s);
  const isShorter = p[WINDOW] < s[LENGTH];
  const after = isShorter ? ([s[START], s[LENGTH], s[UNITS], s[BEFORE], s[ALLOWED]] as Nums) : mine;
  const part = s.length === 9 ? PART : 0;
  if (isShorter) after.push(mine[START], mine[LENGTH], mine[UNITS], mine[BEFORE]);
  else after.push(s[part], s[part + LENGTH] as number, s[part + UNITS] as number, s[part + BEFORE] as number);
  return after;
}

/** Adds units (or removes them, if negative) where the units that expire at `until` are counted; 0 means the newest. */
function edited(p: Nums, s: Nums, units: number, until: number): Nums {
  const window = own(p, s);
  const end = window[START] + window[LENGTH];
  const max = Math.min(Math.floor(MAX_NUMBER / s[LENGTH]), MAX_COUNT);
  let rest = units;
  for (let place = UNITS; place < ALLOWED; place++) {
    if (until === 0 || until === end + (place === UNITS ? window[LENGTH] : 0)) {
      const after = Math.min(Math.max((window[place] as number) + rest, 0), max);
      const change = after - (window[place] as number);
      const from = Math.max(placeOf(p, s), 0);
      s[from + place] = Math.max((s[from + place] as number) + change, 0);
      // The longest policy also counts what the shorter ones count.
      if (from === PART) s[UNITS] = Math.min(Math.max(s[UNITS] + change, 0), max);
      rest -= change;
    }
  }
  return s;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (used(p, s, t) === 0 || (until > 0 && t >= until)) return s;
  const after = edited(p, s, -units, until);
  return endsAt(after) <= t ? unused() : after;
}

export const counter: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
