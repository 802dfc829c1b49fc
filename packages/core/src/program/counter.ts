import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, type Nums, unused } from './numbers.ts';

// Sliding counters: the units of a window on the clock count in full until it ends, and then less and less for as long
// again. Each window keeps its length, so that policies with other windows can take turns.

/** The length of a window, and the largest count for which a product with it is exact. */
const WINDOW = 4;
const MAX_UNITS = 5;

/** The latest window: its start, its length and its units. */
const START = 0;
const LENGTH = 1;
const UNITS = 2;
/** Then, if they still count, the units before: how long after START they are gone, for how long they decrease, and how many. */
const GONE = 3;
const DECREASE = 4;
const BEFORE = 5;

function reads(s: Nums): boolean {
  if (s.length !== 3 && s.length !== 6) return false;
  if (!isWithin(s[START], 0, MAX_NUMBER) || !isCounted(s[LENGTH], s[UNITS])) return false;
  return s.length === 3 || (isWithin(s[GONE], 1, MAX_NUMBER) && isCounted(s[DECREASE], s[BEFORE]));
}

function isCounted(length: number, units: number): boolean {
  return isWithin(length, 1, MAX_PERIOD) && isWithin(units, 0, MAX_COUNT) && length * units <= MAX_NUMBER;
}

/** What still counts at t of units that decrease until they are gone. */
function counted(units: number, decrease: number, goneAt: number, t: number): number {
  return Math.ceil((units * Math.min(Math.max(goneAt - t, 0), decrease)) / decrease);
}

/** When the units of the latest window are gone. */
function latestGone(s: Nums): number {
  return s[START] + 2 * s[LENGTH];
}

function before(s: Nums, t: number): number {
  return s.length === 6 ? counted(s[BEFORE], s[DECREASE], s[START] + s[GONE], t) : 0;
}

function used(_p: Nums, s: Nums, t: number): number {
  return s.length === 0 ? 0 : counted(s[UNITS], s[LENGTH], latestGone(s), t) + before(s, t);
}

function left(p: Nums, s: Nums, t: number): number {
  return p[LIMIT] - used(p, s, t);
}

/** From when at most `room` of units count that decrease until they are gone. */
function countedFrom(units: number, decrease: number, goneAt: number, room: number): number {
  return units <= room ? 0 : goneAt - Math.floor((room * decrease) / units);
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const room = p[LIMIT] - units;
  if (used(p, s, t) <= room) return t;
  const end = s[START] + s[LENGTH];
  const beforeGone = s.length === 6 ? s[START] + s[GONE] : t;
  if (s[UNITS] <= room && s.length === 6) {
    const at = countedFrom(s[BEFORE], s[DECREASE], beforeGone, room - s[UNITS]);
    if (at <= end) return at;
  }
  let at = countedFrom(s[UNITS], s[LENGTH], latestGone(s), room);
  if (at >= beforeGone) return at;
  // Windows of several lengths decrease at once: the first millisecond at which both together fit.
  let low = t;
  at = Math.max(latestGone(s), beforeGone);
  while (low + 1 < at) {
    const middle = Math.floor((low + at) / 2);
    if (used(p, s, middle) <= room) at = middle;
    else low = middle;
  }
  return at;
}

function endsAt(s: Nums): number {
  const latest = s[UNITS] > 0 ? latestGone(s) : 0;
  return s.length === 6 && s[BEFORE] > 0 ? Math.max(latest, s[START] + s[GONE]) : latest;
}

function emptyAt(_p: Nums, s: Nums): number {
  return endsAt(s);
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const sum = used(p, s, t);
  if (until > 0) return sum === 0 || t >= until ? s : addUntil(s, units, until);
  const more = Math.min(units, p[MAX_UNITS] - sum);
  if (more <= 0) return s;
  const start = t - (t % p[WINDOW]);
  if (sum === 0) return [start, p[WINDOW], more] as Nums;
  const isOpen = t < s[START] + s[LENGTH];
  if (isOpen && p[WINDOW] <= s[LENGTH]) {
    s[UNITS] = s[UNITS] + Math.min(more, Math.max(Math.floor(MAX_NUMBER / s[LENGTH]) - s[UNITS], 0));
    return s;
  }
  // A longer window holds what a shorter one began.
  const after = [start, p[WINDOW], isOpen ? Math.min(s[UNITS] + more, p[MAX_UNITS]) : more] as Nums;
  let goneAt = s.length === 6 ? s[START] + s[GONE] : 0;
  let decrease = s.length === 6 ? s[DECREASE] : s[LENGTH];
  let count = s.length === 6 && t < goneAt ? s[BEFORE] : 0;
  if (!isOpen && t < latestGone(s)) {
    decrease = count > 0 ? Math.min(decrease, s[LENGTH]) : s[LENGTH];
    goneAt = Math.max(goneAt, latestGone(s));
    count += s[UNITS];
  }
  if (count > 0) after.push(goneAt - start, decrease, Math.min(count, Math.floor(MAX_NUMBER / decrease)));
  return after;
}

/** The window whose units are gone at `until` is charged, while it still counts. */
function addUntil(s: Nums, units: number, until: number): Nums {
  if (until === latestGone(s)) s[UNITS] = Math.min(s[UNITS] + units, MAX_COUNT, Math.floor(MAX_NUMBER / s[LENGTH]));
  else if (s.length === 6 && until === s[START] + s[GONE]) {
    s[BEFORE] = Math.min(s[BEFORE] + units, MAX_COUNT, Math.floor(MAX_NUMBER / s[DECREASE]));
  }
  return s;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (used(p, s, t) === 0 || (until > 0 && t >= until)) return s;
  let rest = units;
  if (t < latestGone(s) && (until === 0 || until === latestGone(s))) {
    const given = Math.min(s[UNITS], rest);
    s[UNITS] = s[UNITS] - given;
    rest -= given;
  }
  if (s.length === 6 && (until === 0 || until === s[START] + s[GONE])) {
    s[BEFORE] = Math.max(s[BEFORE] - rest, 0);
  }
  return used(p, s, t) === 0 ? unused() : s;
}

export const counter: Family = { reads, used, left, freeAt, emptyAt, endsAt, add, give };
