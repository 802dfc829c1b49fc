import type { Family } from './family.ts';
import {
  ageFor,
  isWithin,
  LIMIT,
  MAX_COUNT,
  MAX_NUMBER,
  MAX_PERIOD,
  moveFirst,
  type Nums,
  roomAt,
  unused,
} from './numbers.ts';

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
/** How long blocks are kept (the longest window among the policies that take turns), and that policy's limit. */
const KEPT = 4;
const ALLOWED = 5;
/**
 * Then the units of earlier blocks, newest first. Each ends LENGTH before the one listed before it or, after a negative
 * number n, -n milliseconds before the start of the open one.
 */
const OLDER = 6;
const MAX_NUMBERS = 500;
/**
 * In a state with at least this many numbers, a policy with a shorter window merges blocks that it does not need
 * itself:
 */
const CROWDED = 250;
/** all blocks in the same hundredth of the longest window, because no policy has more blocks in its own. */
const CELLS = 100;

function reads(s: Nums): boolean {
  if (s.length < OLDER || s.length > MAX_NUMBERS + 1) return false;
  if (!isWithin(s[LAST], 0, MAX_NUMBER) || !isWithin(s[LENGTH], 1, MAX_PERIOD)) return false;
  if (s[SINCE] < 0 || s[SINCE] >= s[LENGTH] || !isWithin(s[UNITS], 0, MAX_COUNT)) return false;
  if (!isWithin(s[KEPT], 1, MAX_PERIOD) || !isWithin(s[ALLOWED], 0, MAX_COUNT)) return false;
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
    const count = s[i] as number;
    end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    if (end <= since) return units;
    if (count > 0) units += count;
  }
  return units;
}

function used(p: Nums, s: Nums, t: number): number {
  return sum(s, t - p[WINDOW]);
}

function left(p: Nums, s: Nums, t: number): number {
  if (s.length === 0) return p[LIMIT];
  let units = s[UNITS];
  let room = Math.min(p[LIMIT], roomAt(t - s[LAST], p[LIMIT], p[WINDOW], s[ALLOWED], s[KEPT]) - units);
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    const count = s[i] as number;
    end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    if (count >= 0) {
      units += count;
      room = Math.min(room, roomAt(t - end, p[LIMIT], p[WINDOW], s[ALLOWED], s[KEPT]) - units);
    }
  }
  return room;
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const oldest = t - Math.max(p[WINDOW], s[KEPT]);
  let sum = s[UNITS] + units;
  let free = sum > p[LIMIT] ? Math.max(s[LAST] + ageFor(sum, p[LIMIT], p[WINDOW], s[ALLOWED], s[KEPT]), t) : t;
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    const count = s[i] as number;
    end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    if (end <= oldest) return free;
    if (count >= 0) {
      sum += count;
      if (sum > p[LIMIT]) free = Math.max(free, end + ageFor(sum, p[LIMIT], p[WINDOW], s[ALLOWED], s[KEPT]));
    }
  }
  return free;
}

function move(s: Nums, t: number): boolean {
  return moveFirst(s, t);
}

function emptyAt(p: Nums, s: Nums): number {
  if (s[UNITS] > 0) return s[LAST] + p[WINDOW];
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER; i < s.length; i++) {
    const count = s[i] as number;
    end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    if (count > 0) return end + p[WINDOW];
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
  if (s.length === 0) return [t, p[BLOCK], t % p[BLOCK], units, p[WINDOW], p[LIMIT]] as Nums;
  // Shorter blocks end a longer one with its last unit.
  if (t >= start(s) + s[LENGTH] || (p[BLOCK] < s[LENGTH] && t - (t % p[BLOCK]) > s[LAST]))
    return opened(p, s, units, t);
  if (p[WINDOW] >= s[KEPT]) {
    s[KEPT] = p[WINDOW];
    s[ALLOWED] = p[LIMIT];
  }
  s[SINCE] = t - start(s);
  s[LAST] = t;
  s[UNITS] = Math.min(s[UNITS] + units, MAX_COUNT);
  return s;
}

/** The state with a new block, and the earlier blocks that are kept. */
function opened(p: Nums, s: Nums, units: number, t: number): Nums {
  const begin = Math.max(t - (t % p[BLOCK]), Math.min(start(s) + s[LENGTH], s[LAST] + 1));
  const kept = Math.max(p[WINDOW], s[KEPT]);
  const after = [t, p[BLOCK], t - begin, units, kept, p[WINDOW] === kept ? p[LIMIT] : s[ALLOWED]] as Nums;
  const cell = s.length > CROWDED ? Math.ceil(kept / CELLS) : 1;
  let newerEnd = begin - 1;
  let newerCell = -1;
  let end = start(s) - 1 + s[LENGTH];
  for (let i = OLDER - 1; i < s.length; i++) {
    // The block that was open comes first. Next to a longer window, it ends with its last unit: that takes more
    // numbers, but delays nothing.
    const count = i < OLDER ? s[UNITS] : (s[i] as number);
    if (i >= OLDER) end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    const closed = i < OLDER && kept > p[WINDOW] ? s[LAST] : Math.min(end, begin - 1);
    if (count >= 0 && closed <= t - kept) return after;
    if (count > 0) {
      // Each block that this policy needs is a cell of its own.
      const ownCell = closed <= t - p[WINDOW] ? Math.floor(closed / cell) : -i;
      if (ownCell === newerCell || after.length >= MAX_NUMBERS) {
        // It is no longer known when others took what, so the longest window no longer bounds them.
        after[after.length - 1] = Math.min((after[after.length - 1] as number) + count, MAX_COUNT);
        after[ALLOWED] = MAX_COUNT;
      } else {
        if (closed !== newerEnd) after.push(closed - begin);
        after.push(count);
        newerEnd = closed - p[BLOCK];
      }
      newerCell = ownCell;
    }
  }
  return after;
}

/** Where units taken at that instant are counted; -1 if they are gone. */
function placeOf(p: Nums, s: Nums, at: number): number {
  if (at >= start(s)) return UNITS;
  let end = start(s) - 1 + s[LENGTH];
  let place = -1;
  for (let i = OLDER; i < s.length; i++) {
    const count = s[i] as number;
    end = count < 0 ? start(s) + count + s[LENGTH] : end - s[LENGTH];
    if (count >= 0 && end >= at && end < at + p[BLOCK]) place = i;
  }
  return place;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  if (until > 0 && t >= until) return s;
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

export const blocks: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
