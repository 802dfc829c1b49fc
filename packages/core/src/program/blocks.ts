import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, type Nums, unused } from './numbers.ts';

// Sliding windows. Units are counted in blocks of time, and a policy reads each block by its own window: the units of the
// open block leave a window after the last of them, those of any other a window after its last millisecond.

const BLOCK = 4;
/** A whole number of blocks. */
const WINDOW = 5;

/** The open block: its last unit, its length, how long after its start the last unit was, and its units. */
const LAST = 0;
const LENGTH = 1;
const SINCE = 2;
const UNITS = 3;
/**
 * How long blocks are kept: for the longest window among the policies that take turns; and how long before the last unit
 * such a policy took its last one. After a window without it, blocks are kept no longer for it.
 */
const KEPT = 4;
const ASIDE = 5;
/** The limit of that policy. */
const ALLOWED = 6;
/** Then the units of the blocks before, newest first. Each ends LENGTH before the one that was listed before it, */
const OLDER = 7;
// or, after a negative number n, -n milliseconds before the start of the open one.
const MAX_NUMBERS = 500;

function reads(s: Nums): boolean {
  if (s.length < OLDER || s.length > MAX_NUMBERS + 1) return false;
  if (!isWithin(s[LAST], 0, MAX_NUMBER) || !isWithin(s[LENGTH], 1, MAX_PERIOD)) return false;
  if (s[SINCE] < 0 || s[SINCE] >= s[LENGTH] || !isWithin(s[UNITS], 0, MAX_COUNT)) return false;
  if (!isWithin(s[KEPT], 1, MAX_PERIOD) || !isWithin(s[ASIDE], 0, MAX_COUNT) || !isWithin(s[ALLOWED], 0, MAX_COUNT))
    return false;
  for (let i = OLDER; i < s.length; i++) if (!isWithin(s[i] as number, -MAX_PERIOD, MAX_COUNT)) return false;
  return true;
}

function start(s: Nums): number {
  return s[LAST] - s[SINCE];
}

/** The units of all blocks that end after `since`. */
function sum(s: Nums, since: number): number {
  if (s.length === 0) return 0;
  let units = s[LAST] > since ? s[UNITS] : 0;
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    if ((s[i] as number) < 0) end = start(s) + (s[i] as number) + s[LENGTH];
    else {
      end -= s[LENGTH];
      if (end <= since) return units;
      units += s[i] as number;
    }
  }
  return units;
}

function used(p: Nums, s: Nums, t: number): number {
  return sum(s, t - p[WINDOW]);
}

/**
 * What the longest window may count for a shorter policy that takes turns with it: together they allow no more than the
 * larger of the two alone.
 */
function maxBeside(p: Nums, s: Nums): number {
  return Math.max(s[ALLOWED], p[LIMIT] * Math.ceil(s[KEPT] / p[WINDOW]));
}

/** Whether no policy with a longer window takes turns. */
function isLongest(p: Nums, s: Nums, t: number): boolean {
  return p[WINDOW] >= s[KEPT] || s[ASIDE] + t - s[LAST] >= s[KEPT];
}

function left(p: Nums, s: Nums, t: number): number {
  const own = p[LIMIT] - used(p, s, t);
  if (s.length === 0 || isLongest(p, s, t)) return own;
  return Math.min(own, maxBeside(p, s) - sum(s, t - s[KEPT]));
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const own = fitsAt(s, p[WINDOW], p[LIMIT] - units, t);
  if (isLongest(p, s, t)) return own;
  const beside = fitsAt(s, s[KEPT], maxBeside(p, s) - units, t);
  return Math.max(own, Math.min(beside, s[LAST] - s[ASIDE] + s[KEPT]));
}

/** From when a window has room. The newest units stay: the block with which they become too many must leave. */
function fitsAt(s: Nums, window: number, most: number, t: number): number {
  let room = most;
  if (s[LAST] > t - window) room -= s[UNITS];
  if (room < 0) return s[LAST] + window;
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    if ((s[i] as number) < 0) end = start(s) + (s[i] as number) + s[LENGTH];
    else {
      end -= s[LENGTH];
      if (end <= t - window) return t;
      room -= s[i] as number;
      if (room < 0) return end + window;
    }
  }
  return t;
}

function emptyAt(p: Nums, s: Nums): number {
  if (s[UNITS] > 0) return s[LAST] + p[WINDOW];
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    if ((s[i] as number) < 0) end = start(s) + (s[i] as number) + s[LENGTH];
    else {
      end -= s[LENGTH];
      if ((s[i] as number) > 0) return end + p[WINDOW];
    }
  }
  return 0;
}

function endsAt(s: Nums): number {
  return s[LAST] + s[KEPT];
}

function add(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (until > 0) {
    if (t >= until || used(p, s, t) === 0) return s;
    const at = Math.max(placeOf(p, s, until - p[WINDOW]), UNITS);
    s[at] = Math.min((s[at] as number) + units, MAX_COUNT);
    return s;
  }
  const onGrid = t - (t % p[BLOCK]);
  // Shorter blocks end a longer one with its last unit.
  if (s.length === 0 || t >= start(s) + s[LENGTH] || (p[BLOCK] < s[LENGTH] && onGrid > s[LAST]))
    return opened(p, s, units, t);
  const isLonger = isLongest(p, s, t);
  s[ASIDE] = isLonger ? 0 : s[ASIDE] + t - s[LAST];
  s[KEPT] = isLonger ? p[WINDOW] : s[KEPT];
  s[ALLOWED] = isLonger ? p[LIMIT] : s[ALLOWED];
  s[SINCE] = t - start(s);
  s[LAST] = t;
  s[UNITS] = Math.min(s[UNITS] + units, MAX_COUNT);
  return s;
}

/** The state with a new block, and the blocks before it that are kept. */
function opened(p: Nums, s: Nums, units: number, t: number): Nums {
  const onGrid = t - (t % p[BLOCK]);
  if (s.length === 0) return [t, p[BLOCK], t - onGrid, units, p[WINDOW], 0, p[LIMIT]] as Nums;
  const begin = Math.max(onGrid, Math.min(start(s) + s[LENGTH], s[LAST] + 1));
  const isLonger = isLongest(p, s, t);
  const kept = isLonger ? p[WINDOW] : s[KEPT];
  const aside = isLonger ? 0 : s[ASIDE] + t - s[LAST];
  const after = [t, p[BLOCK], t - begin, units, kept, aside, isLonger ? p[LIMIT] : s[ALLOWED]] as Nums;
  if (s[LAST] <= t - kept) return after;
  let newerEnd = begin - 1;
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER - 1; i < s.length; i++) {
    const count = i < OLDER ? s[UNITS] : (s[i] as number);
    if (count < 0) end = start(s) + count + s[LENGTH];
    else {
      if (i >= OLDER) end -= s[LENGTH];
      const closed = Math.min(end, begin - 1);
      if (closed <= t - kept) return after;
      if (count > 0 && after.length < MAX_NUMBERS) {
        if (closed !== newerEnd) after.push(closed - begin);
        after.push(count);
        newerEnd = closed - p[BLOCK];
      } else after[after.length - 1] = Math.min((after[after.length - 1] as number) + count, MAX_COUNT);
    }
  }
  return after;
}

/** Where the units are counted that were taken at that instant; -1 if they are gone. */
function placeOf(p: Nums, s: Nums, at: number): number {
  if (at >= start(s)) return UNITS;
  let end = start(s) - 1 + s[LENGTH];
  let place = -1;
  for (let i = OLDER; i < s.length; i++) {
    if ((s[i] as number) < 0) end = start(s) + (s[i] as number) + s[LENGTH];
    else {
      end -= s[LENGTH];
      if (end >= at && end < at + p[BLOCK]) place = i;
    }
  }
  return place;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (s.length === 0 || (until > 0 && t >= until)) return s;
  if (until > 0) {
    const at = placeOf(p, s, until - p[WINDOW]);
    if (at >= 0) s[at] = Math.max((s[at] as number) - units, 0);
  } else {
    let rest = Math.min(units, used(p, s, t));
    for (let i = UNITS; i < s.length; i++) {
      if ((s[i] as number) > 0 && (i === UNITS || i >= OLDER)) {
        const given = Math.min(s[i] as number, rest);
        s[i] = (s[i] as number) - given;
        rest -= given;
      }
    }
  }
  return sum(s, 0) === 0 ? unused() : s;
}

export const blocks: Family = { reads, used, left, freeAt, emptyAt, endsAt, add, give };
