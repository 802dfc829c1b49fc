import type { Family } from './family.ts';
import { isWithin, LIMIT, MAX_COUNT, MAX_NUMBER, MAX_PERIOD, moveFirst, type Nums, unused } from './numbers.ts';

// Buckets that are refilled at intervals. A full bucket has no state; its first period begins with its first unit. Each
// policy pays units back at its own rate, from the start of a period on; a write starts the next one where the last
// paid period ended, so that no time is paid for twice or lost.

/** Units that come back at the end of a period, and its length. */
const REFILL = 4;
const EVERY = 5;

/** When the period began, the units used then, and REFILL and EVERY of the policy that wrote it. */
const START = 0;
const UNITS = 1;
const BACK = 2;
const PERIOD = 3;

function reads(s: Nums): boolean {
  if (s.length !== 4 || !isWithin(s[START], 0, MAX_NUMBER) || !isWithin(s[UNITS], 1, MAX_COUNT)) return false;
  if (!isWithin(s[BACK], 1, MAX_COUNT) || !isWithin(s[PERIOD], 1, MAX_PERIOD)) return false;
  return endsAt(s) - s[START] <= MAX_COUNT;
}

/** When the current period began. */
function begin(p: Nums, s: Nums, t: number): number {
  return t - ((t - s[START]) % p[EVERY]);
}

function used(p: Nums, s: Nums, t: number): number {
  return s.length === 0 ? 0 : Math.max(s[UNITS] - Math.floor((t - s[START]) / p[EVERY]) * p[REFILL], 0);
}

function left(p: Nums, s: Nums, t: number): number {
  return p[LIMIT] - used(p, s, t);
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const beyond = used(p, s, t) + units - p[LIMIT];
  return beyond > 0 ? begin(p, s, t) + Math.ceil(beyond / p[REFILL]) * p[EVERY] : t;
}

function move(s: Nums, t: number): boolean {
  return moveFirst(s, t);
}

function emptyAt(p: Nums, s: Nums): number {
  return s[START] + Math.ceil(s[UNITS] / p[REFILL]) * p[EVERY];
}

function endsAt(s: Nums): number {
  return s[START] + Math.ceil(s[UNITS] / s[BACK]) * s[PERIOD];
}

function add(p: Nums, s: Nums, units: number, _until: number, t: number): Nums {
  const before = used(p, s, t);
  const after = written(p, s, before, before + units, t);
  return after[UNITS] > before ? after : s;
}

function give(p: Nums, s: Nums, units: number, _until: number, t: number): Nums {
  const before = used(p, s, t);
  if (before === 0) return s;
  return before > units ? written(p, s, before, before - units, t) : unused();
}

/** At most the units that come back before MAX_COUNT ms have passed. */
function written(p: Nums, s: Nums, before: number, units: number, t: number): Nums {
  const max = Math.min(Math.floor(MAX_COUNT / p[EVERY]) * p[REFILL], MAX_COUNT);
  return [before === 0 ? t : begin(p, s, t), Math.min(units, max), p[REFILL], p[EVERY]] as Nums;
}

export const interval: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
