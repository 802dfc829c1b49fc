import type { Family } from './family.ts';
import {
  isWithin,
  LINE,
  MAX_COUNT,
  MAX_NUMBER,
  MAX_PERIOD,
  MODE,
  moveFirst,
  type Nums,
  scaleUp,
  unused,
} from './numbers.ts';

// Token buckets that are refilled evenly, and leaky buckets. What is missing from a full bucket is a debt that is paid
// back evenly. Debt is counted in parts: PER_UNIT parts make a unit, and PER_MS parts are paid back each millisecond. A
// policy with other numbers converts the debt by the exact ratio of the parts, and pays it back at its own rate.

const PER_MS = 4;
const PER_UNIT = 5;
/** The parts that a full bucket holds. */
const FULL = 6;

/** When the debt was last written, the debt then, and PER_UNIT and PER_MS of the policy that wrote it. */
const AT = 0;
const OWED = 1;
const PARTS = 2;
const RATE = 3;

function reads(s: Nums): boolean {
  if (s.length !== 4 || !isWithin(s[AT], 0, MAX_NUMBER) || !isWithin(s[OWED], 1, MAX_COUNT)) return false;
  return isWithin(s[PARTS], 1, MAX_PERIOD) && isWithin(s[RATE], 1, MAX_COUNT);
}

function owed(p: Nums, s: Nums, t: number): number {
  if (s.length === 0) return 0;
  const debt = s[PARTS] === p[PER_UNIT] ? s[OWED] : scaleUp(s[OWED], p[PER_UNIT], s[PARTS]);
  return Math.max(debt - (t - s[AT]) * p[PER_MS], 0);
}

function used(p: Nums, s: Nums, t: number): number {
  return Math.ceil(owed(p, s, t) / p[PER_UNIT]);
}

function left(p: Nums, s: Nums, t: number): number {
  return Math.floor((p[FULL] - owed(p, s, t)) / p[PER_UNIT]);
}

function freeAt(p: Nums, s: Nums, units: number, t: number): number {
  const beyond = owed(p, s, t) + units * p[PER_UNIT] - p[FULL];
  return beyond > 0 ? t + Math.ceil(beyond / p[PER_MS]) : t;
}

function move(s: Nums, t: number): boolean {
  return moveFirst(s, t);
}

function emptyAt(p: Nums, s: Nums): number {
  return s[AT] + Math.ceil(owed(p, s, s[AT]) / p[PER_MS]);
}

function endsAt(s: Nums): number {
  return s[AT] + Math.ceil(s[OWED] / s[RATE]);
}

function add(p: Nums, s: Nums, units: number, _until: number, t: number): Nums {
  const before = owed(p, s, t);
  const more = Math.min(units, Math.floor((MAX_COUNT - before) / p[PER_UNIT]));
  return more > 0 ? written(p, s, before + more * p[PER_UNIT], t) : s;
}

function give(p: Nums, s: Nums, units: number, until: number, t: number): Nums {
  const before = owed(p, s, t);
  // Units behind others in the line would start no earlier.
  if (before === 0 || (p[MODE] === LINE && until > 0 && until !== emptyAt(p, s))) return s;
  if (Math.ceil(before / p[PER_UNIT]) <= units) return unused();
  return written(p, s, before - units * p[PER_UNIT], t);
}

function written(p: Nums, s: Nums, debt: number, t: number): Nums {
  if (s.length === 0) return [t, debt, p[PER_UNIT], p[PER_MS]] as Nums;
  s[AT] = t;
  s[OWED] = debt;
  s[PARTS] = p[PER_UNIT];
  s[RATE] = p[PER_MS];
  return s;
}

export const debt: Family = { reads, used, left, freeAt, move, emptyAt, endsAt, add, give };
