import type { Family } from './family.ts';
import { HELD, isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, MODE, type Nums, unused } from './numbers.ts';

// Sliding logs and concurrency: every taking is an entry. That of a log has the instant at which it was taken, and a policy
// reads it by its own window; that of a slot has the instant at which it expires if its holder has not given it back.

/** The length of the window, or how long a slot is kept without a sign of its holder. */
const TTL = 4;

/** The last write, and how long before it the instant was from which others count. */
const WRITTEN = 0;
const SINCE = 1;
/**
 * How long a log keeps entries: for the longest window among the policies that take turns; and how long before the last
 * write such a policy took its last units. After a window without it, entries are kept no longer for it.
 */
const KEPT = 2;
const ASIDE = 3;
/** The limit of that policy. */
const ALLOWED = 4;
/** Then the entries, those that leave first first: the instant of each, its units, and its holder, 0 in a log. */
const FIRST = 5;
const AT = 0;
const UNITS = 1;
const HOLDER = 2;
const SIZE = 3;

const MAX_ENTRIES = 1000;
/** Policies of several windows in turn may have some more. */
const MAX_NUMBERS = 4000;

function reads(s: Nums): boolean {
  if (s.length < FIRST + SIZE || (s.length - FIRST) % SIZE !== 0 || s.length > MAX_NUMBERS) return false;
  if (!isWithin(s[WRITTEN], 0, MAX_NUMBER) || s[SINCE] < 0 || s[SINCE] > s[WRITTEN]) return false;
  if (!isWithin(s[KEPT], 0, MAX_PERIOD) || !isWithin(s[ASIDE], 0, MAX_COUNT) || !isWithin(s[ALLOWED], 0, MAX_COUNT))
    return false;
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

/** Entries count for so long after their instant. */
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

/** Whether no policy with a longer window takes turns. */
function isLongest(p: Nums, s: Nums, t: number): boolean {
  return window(p) >= s[KEPT] || s[ASIDE] + t - s[WRITTEN] >= s[KEPT];
}

/** What the longest window may count for a shorter policy: together they allow no more than the larger of the two alone. */
function maxBeside(p: Nums, s: Nums): number {
  return Math.max(s[ALLOWED], p[LIMIT] * Math.ceil(s[KEPT] / window(p)));
}

function left(p: Nums, s: Nums, t: number): number {
  const own = p[LIMIT] - used(p, s, t);
  if (s.length === 0 || isLongest(p, s, t)) return own;
  return Math.min(own, maxBeside(p, s) - sum(s, t - base(s) - s[KEPT]));
}

/** Where the slot of this holder with as many units begins; -1 if there is none. */
function slotOf(p: Nums, s: Nums, units: number, t: number, holder: number): number {
  if (p[MODE] === HELD && s.length > 0) {
    for (let i = FIRST; i < s.length; i += SIZE) {
      if (s[i + UNITS] === units && s[i + HOLDER] === holder && (s[i + AT] as number) > t - base(s)) return i;
    }
  }
  return -1;
}

function freeAt(p: Nums, s: Nums, units: number, t: number, holder: number): number {
  if (slotOf(p, s, units, t, holder) >= 0) return t;
  const own = fitsAt(s, window(p), p[LIMIT] - units, t);
  if (isLongest(p, s, t)) return own;
  const beside = fitsAt(s, s[KEPT], maxBeside(p, s) - units, t);
  return Math.max(own, Math.min(beside, s[WRITTEN] - s[ASIDE] + s[KEPT]));
}

/** From when at most `room` units count that are counted for `length` after their instant. */
function fitsAt(s: Nums, length: number, room: number, t: number): number {
  const since = t - base(s) - length;
  let beyond = sum(s, since) - room;
  if (beyond <= 0) return t;
  for (let i = FIRST; i < s.length; i += SIZE) {
    if ((s[i + AT] as number) > since) beyond -= s[i + UNITS] as number;
    if (beyond <= 0) return base(s) + (s[i + AT] as number) + length;
  }
  return t;
}

function emptyAt(p: Nums, s: Nums): number {
  return base(s) + (s[s.length - SIZE + AT] as number) + window(p);
}

function endsAt(s: Nums): number {
  return base(s) + (s[s.length - SIZE + AT] as number) + s[KEPT];
}

function add(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums {
  const own = slotOf(p, s, units, t, holder);
  // A slot never costs more than was taken: what is charged to it later keeps it for as long as a new one.
  if (until > 0 && (p[MODE] === HELD ? own < 0 : t >= until || used(p, s, t) === 0)) return s;
  const aside = s.length === 0 ? 0 : s[ASIDE] + t - s[WRITTEN];
  const isMine = s.length === 0 || isLongest(p, s, t);
  const kept = isMine ? window(p) : s[KEPT];
  const isFresh = s.length === 0 || sum(s, t - base(s) - kept) === 0;
  const from = isFresh ? t : base(s);
  const at = t - from + (p[MODE] === HELD ? p[TTL] : 0);
  const after = [t, t - from, kept, isMine ? 0 : aside, isMine ? p[LIMIT] : s[ALLOWED]] as Nums;
  let isIn = false;
  for (let i = FIRST; i < s.length; i += SIZE) {
    if (!isFresh && (s[i + AT] as number) > t - from - kept && i !== own) {
      if (!isIn && (s[i + AT] as number) > at) {
        after.push(at, units, holder);
        isIn = true;
      }
      after.push(s[i + AT] as number, s[i + UNITS] as number, s[i + HOLDER] as number);
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

function give(p: Nums, s: Nums, units: number, until: number, t: number, holder: number): Nums {
  const before = used(p, s, t);
  const own = slotOf(p, s, units, t, holder);
  if (before === 0 || (p[MODE] === HELD ? own < 0 : until > 0 && t >= until)) return s;
  // A log gives back its oldest units, so that the others come back no earlier than they should; of no decision, its newest.
  let stay = p[MODE] === HELD || until > 0 ? 0 : Math.max(before - units, 0);
  let rest = units;
  const since = t - base(s) - window(p);
  const after = [t, t - base(s), s[KEPT], s[ASIDE] + t - s[WRITTEN], s[ALLOWED]] as Nums;
  for (let i = FIRST; i < s.length; i += SIZE) {
    let given = i === own ? (s[i + UNITS] as number) : 0;
    if (p[MODE] !== HELD && (s[i + AT] as number) > since) {
      const stays = Math.min(stay, s[i + UNITS] as number);
      given = Math.min((s[i + UNITS] as number) - stays, rest);
      stay -= stays;
      rest -= given;
    }
    if ((s[i + UNITS] as number) > given)
      after.push(s[i + AT] as number, (s[i + UNITS] as number) - given, s[i + HOLDER] as number);
  }
  return after.length > FIRST ? after : unused();
}

export const slots: Family = { reads, used, left, freeAt, emptyAt, endsAt, add, give };
