import type { Family } from './family.ts';
import {
  ageFor,
  HELD,
  isWithin,
  LIMIT,
  MAX_COUNT,
  MAX_NUMBER,
  MAX_PERIOD,
  MODE,
  moveFirst,
  type Nums,
  roomAt,
  unused,
} from './numbers.ts';

// Sliding logs and concurrency: each time units are taken, an entry is added. A log's entry has the instant at which
// the units were taken, and each policy reads it by its own window; a slot's entry has the instant at which it expires
// if its holder does not give it back.

/** The length of the window, or how long a slot lasts without renewal. */
const TTL = 4;

/** The last write, and how long before it the instant was from which the others are counted. */
const WRITTEN = 0;
const SINCE = 1;
/** How long a log keeps entries (the longest window among the policies that take turns), and that policy's limit. */
const KEPT = 2;
const ALLOWED = 3;
/** Then the entries, in the order in which they expire: each with its instant, units and holder (0 in a log). */
const FIRST = 4;
const AT = 0;
const UNITS = 1;
const HOLDER = 2;
const SIZE = 3;

const MAX_ENTRIES = 1000;
const MAX_NUMBERS = 4000;
/**
 * In a state with at least this many numbers, a policy with a shorter window merges entries that it does not need
 * itself:
 */
const CROWDED = 2500;
/** all entries in the same hundredth of the longest window. */
const CELLS = 100;

function reads(s: Nums): boolean {
  if (s.length < FIRST + SIZE || (s.length - FIRST) % SIZE !== 0 || s.length > MAX_NUMBERS) return false;
  if (!isWithin(s[WRITTEN], 0, MAX_NUMBER) || s[SINCE] < 0 || s[SINCE] > s[WRITTEN]) return false;
  if (!isWithin(s[KEPT], 0, MAX_PERIOD) || !isWithin(s[ALLOWED], 0, MAX_COUNT)) return false;
  for (let i = FIRST; i < s.length; i += SIZE) {
    if (!isWithin(s[i + AT] as number, 0, MAX_NUMBER) || !isWithin(s[i + UNITS] as number, 1, MAX_COUNT)) return false;
    if (!isWithin(s[i + HOLDER] as number, 0, MAX_NUMBER)) return false;
  }
  return true;
}

/** The instant from which the others count. */
function base(s: Nums): number {
  return s[WRITTEN] - s[SINCE];
}

/** How long entries count after their instant. */
function window(p: Nums): number {
  return p[MODE] === HELD ? 0 : p[TTL];
}

function sum(s: Nums, since: number): number {
  let units = 0;
  for (let i = FIRST; i < s.length; i += SIZE) if ((s[i + AT] as number) > since) units += s[i + UNITS] as number;
  return units;
}

function used(p: Nums, s: Nums, t: number): number {
  return s.length === 0 ? 0 : sum(s, t - base(s) - window(p));
}

function left(p: Nums, s: Nums, t: number): number {
  // Slots have no window, and no longer policy takes turns.
  if (s.length === 0 || p[MODE] === HELD || window(p) >= s[KEPT]) return p[LIMIT] - used(p, s, t);
  let units = 0;
  let room = p[LIMIT];
  for (let i = s.length - SIZE; i >= FIRST; i -= SIZE) {
    units += s[i + UNITS] as number;
    const age = t - base(s) - (s[i + AT] as number);
    room = Math.min(room, roomAt(age, p[LIMIT], window(p), s[ALLOWED], s[KEPT]) - units);
  }
  return room;
}

/** Where this holder's slot of this many units begins; -1 if there is none. */
function slotOf(p: Nums, s: Nums, units: number, t: number, holder: number): number {
  if (p[MODE] === HELD) {
    for (let i = FIRST; i < s.length; i += SIZE) {
      if (s[i + UNITS] === units && s[i + HOLDER] === holder && (s[i + AT] as number) > t - base(s)) return i;
    }
  }
  return -1;
}

function freeAt(p: Nums, s: Nums, units: number, t: number, holder: number): number {
  if (slotOf(p, s, units, t, holder) >= 0) return t;
  const oldest = t - base(s) - Math.max(window(p), s[KEPT]);
  let count = units;
  let free = t;
  for (let i = s.length - SIZE; i >= FIRST; i -= SIZE) {
    const at = s[i + AT] as number;
    if (at <= oldest) return free;
    count += s[i + UNITS] as number;
    if (count > p[LIMIT]) free = Math.max(free, base(s) + at + ageFor(count, p[LIMIT], window(p), s[ALLOWED], s[KEPT]));
  }
  return free;
}

function move(s: Nums, t: number): boolean {
  return moveFirst(s, t);
}

function emptyAt(p: Nums, s: Nums): number {
  return base(s) + (s[s.length - SIZE + AT] as number) + window(p);
}

function endsAt(s: Nums): number {
  return base(s) + (s[s.length - SIZE + AT] as number) + s[KEPT];
}

function add(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums {
  const own = slotOf(p, s, units, t, holder);
  // A slot never costs more than was taken: charging it later keeps it as long as a new one.
  if (until > 0 && (p[MODE] === HELD ? own < 0 : t >= until || used(p, s, t) === 0)) return s;
  const isLongest = s.length === 0 || window(p) >= s[KEPT];
  const kept = isLongest ? window(p) : s[KEPT];
  const isFresh = s.length === 0 || sum(s, t - base(s) - kept) === 0;
  const from = isFresh ? t : base(s);
  const at = t - from + (p[MODE] === HELD ? p[TTL] : 0);
  const after = [t, t - from, kept, isLongest ? p[LIMIT] : s[ALLOWED]] as Nums;
  const cell = s.length > CROWDED ? Math.ceil(kept / CELLS) : 1;
  let olderCell = -1;
  let isIn = false;
  for (let i = FIRST; i < s.length; i += SIZE) {
    const taken = s[i + AT] as number;
    if (!isFresh && taken > t - from - kept && i !== own) {
      if (!isIn && taken > at) {
        after.push(at, units, holder);
        isIn = true;
      }
      // Each entry that this policy needs is a cell of its own.
      const ownCell = taken <= t - from - window(p) ? Math.floor(taken / cell) : -i;
      const last = after.length - SIZE;
      if (ownCell === olderCell) {
        after[last + AT] = taken;
        after[last + UNITS] = (after[last + UNITS] as number) + (s[i + UNITS] as number);
        // It is no longer known when others took what, so the longest window no longer bounds them.
        after[ALLOWED] = MAX_COUNT;
      } else after.push(taken, s[i + UNITS] as number, s[i + HOLDER] as number);
      olderCell = ownCell;
    }
  }
  const last = after.length - SIZE;
  const isFull = last >= FIRST + SIZE * (MAX_ENTRIES - 1);
  if (p[MODE] !== HELD && last >= FIRST && (after[last + AT] === at || isFull)) {
    after[last + AT] = at;
    after[last + UNITS] = (after[last + UNITS] as number) + units;
  } else if (!isIn) after.push(at, units, holder);
  return after;
}

/**
 * A log gives back the units that a decision took at its instant, or its newest units without one; concurrency gives
 * back a whole slot.
 */
function give(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums {
  const own = slotOf(p, s, units, t, holder);
  const since = t - base(s) - window(p);
  const decided = until - base(s) - window(p);
  let rest = units;
  for (let i = s.length - SIZE; i >= FIRST; i -= SIZE) {
    const at = s[i + AT] as number;
    if (p[MODE] === HELD ? i === own : at > since && (until === 0 || at === decided)) {
      const given = Math.min(s[i + UNITS] as number, rest);
      s[i + UNITS] = (s[i + UNITS] as number) - given;
      rest -= given;
    }
  }
  if (rest === units) return s;
  const after = [t, t - base(s), s[KEPT], s[ALLOWED]] as Nums;
  for (let i = FIRST; i < s.length; i += SIZE) {
    if ((s[i + UNITS] as number) > 0) after.push(s[i + AT] as number, s[i + UNITS] as number, s[i + HOLDER] as number);
  }
  return after.length > FIRST ? after : unused();
}

export const slots: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
