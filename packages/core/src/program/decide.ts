import type { Family } from './family.ts';
import { BLOCK_FOR, HELD, LIMIT, LINE, MAX_COUNT, MAX_NUMBER, MODE, OVERDRAFT, type Nums, unused } from './numbers.ts';

/** What can be asked of a key. */
export const TAKE = 0;
export const PEEK = 1;
/** Like TAKE, but a denial starts no block: for requests that wait, and for report mode. */
export const TRY = 2;
export const GIVE = 3;
export const CHARGE = 4;
export const RESET = 5;
export const BLOCK = 6;
/** Keeps a slot as long as a new one; allowed if it is still held. */
export const RENEW = 7;

/** One key of a request: how its policy counts, what the request asks, and what the key holds. */
export interface Part {
  f: Family;
  p: Nums;
  cost: number;
  holder: number;
  s: Nums;
  /** Until when the key is blocked; 0 if it is not. */
  blocked: number;
  /** When a reset dropped units that would still count, and until when they would have counted; 0: never. */
  resetAt: number;
  resetEnd: number;
  /** Set by `decide` and `change`: when the state that was read ends; 0: none. */
  endsAt: number;
  /** How many ms until this key allows the request: 0 now, -1 never. */
  wait: number;
  /** How many ms until an allowed request of a leaky bucket may start. */
  delay: number;
  /** Whether the key must be written. */
  changed: boolean;
}

/** A block that has ended is not written. */
function write(part: Part, now: number): void {
  part.changed = true;
  if (part.blocked <= now) part.blocked = 0;
}

function copy(s: Nums): Nums {
  const all = unused();
  for (let i = 0; i < s.length; i++) all.push(s[i] as number);
  return all;
}

/** A state with more numbers than this may have a second instant: that of the shorter policies. */
const MAX_WITH_ONE = 6;

/**
 * Moves back a state written by a clock that ran ahead (a peek moves a copy), and drops what has ended. A state that
 * has ended by its writer's numbers has ended for every policy, whether its value is still kept or not.
 */
function read(part: Part, op: number, now: number): void {
  part.endsAt = 0;
  if (part.resetEnd <= now) {
    part.resetAt = 0;
    part.resetEnd = 0;
  }
  if (part.s.length > 0) {
    if (part.s[0] > now || part.s.length > MAX_WITH_ONE) {
      if (op === PEEK) part.s = copy(part.s);
      if (part.f.move(part.s, now) && op !== PEEK) write(part, now);
    }
    part.endsAt = part.f.endsAt(part.s);
    if (part.endsAt <= now) part.s = unused();
  }
}

/**
 * How many ms until a key allows its part of a request: 0 now, -1 never. Uses conditions instead of Math.max, because
 * calls are slow in Lua.
 */
function waitFor(part: Part, now: number): number {
  const p = part.p;
  const blocked = part.blocked > now ? part.blocked - now : 0;
  if (part.cost === 0) return blocked;
  const needed = p[OVERDRAFT] > 0 ? Math.max(part.cost - p[OVERDRAFT], 1) : part.cost;
  if (needed > p[LIMIT]) return -1;
  if (part.s.length === 0) return blocked;
  const freeAt = part.f.freeAt(p, part.s, needed, now, part.holder);
  const wait = (freeAt < part.endsAt ? freeAt : part.endsAt) - now;
  return wait > blocked ? wait : blocked;
}

/** How many ms until a request that a leaky bucket allows may start. */
function delayOf(part: Part, now: number): number {
  if (part.wait !== 0 || part.s.length === 0 || part.cost === 0) return 0;
  return Math.max(part.f.emptyAt(part.p, part.s) - now, 0);
}

/**
 * Takes from all parts if all of them allow it, or from none. A denial writes nothing, unless its own policy blocks the
 * key for it, which it does not do for a cost that never fits or while the key is blocked.
 */
export function decide(parts: Part[], op: number, now: number): boolean {
  let allowed = true;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    read(part, op, now);
    const wait = waitFor(part, now);
    part.wait = wait;
    if (part.p[MODE] === LINE) part.delay = delayOf(part, now);
    if (wait !== 0) {
      allowed = false;
      if (wait > 0 && op === TAKE && part.blocked <= now && part.p[BLOCK_FOR] > 0) {
        part.blocked = now + part.p[BLOCK_FOR];
        part.wait = Math.max(wait, part.p[BLOCK_FOR]);
        write(part, now);
      }
    }
  }
  if (allowed && op !== PEEK) {
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as Part;
      if (part.cost > 0) {
        part.s = part.f.add(part.p, part.s, part.cost, 0, now, part.holder);
        write(part, now);
      }
    }
  }
  return allowed;
}

/**
 * Edits one key, and writes it only if it has a state of this kind or gets one. `until` is when the refunded or charged
 * units expire, or how many ms a block lasts: 0 ends it. A block with a cost also resets the key. Units that a reset
 * dropped are neither refunded nor charged further: except for slots, `holder` is when the units were taken.
 */
export function change(part: Part, op: number, until: number, now: number): void {
  read(part, op, now);
  const hadState = part.s.length > 0;
  const isSlot = part.p[MODE] === HELD;
  const holder = isSlot ? part.holder : 0;
  const isForgotten = !isSlot && part.holder > 0 && part.holder <= part.resetAt && part.resetAt <= now;
  // What was taken in the millisecond of a reset may have been taken after it.
  const isSurelyForgotten = isForgotten && part.holder < part.resetAt;
  part.wait = 0;
  part.delay = 0;
  if (op === GIVE && hadState && !isForgotten) part.s = part.f.give(part.p, part.s, part.cost, until, now, holder);
  if (op === CHARGE && !isSurelyForgotten) {
    const units = Math.min(part.cost, MAX_COUNT - part.f.used(part.p, part.s, now));
    if (units > 0) part.s = part.f.add(part.p, part.s, units, until, now, holder);
  }
  if (op === RESET || (op === BLOCK && part.cost > 0)) {
    part.s = unused();
    if (hadState && !isSlot) {
      part.resetAt = now;
      part.resetEnd = Math.max(part.resetEnd, part.endsAt);
    }
  }
  if (op === BLOCK) part.blocked = until > 0 ? now + until : 0;
  if (op === RENEW) {
    const after = part.f.add(part.p, part.s, part.cost, 1, now, holder);
    if (after === part.s) part.wait = -1;
    part.s = after;
  }
  if (part.s.length > 0 || hadState || op === RESET || op === BLOCK) write(part, now);
}

/** The places in the result of `figures`: times in ms from now, -1 for never or unknown. */
export const ALLOWED = 0;
export const REMAINING = 1;
export const USED = 2;
export const RETRY_AFTER = 3;
export const RESET_AFTER = 4;
export const NEXT_AFTER = 5;
export const DELAY = 6;
/** How long the key is blocked, including by this request; 0 if it is not. */
export const BLOCKED = 7;

export function figures(part: Part, now: number): number[] {
  const p = part.p;
  const s = part.s;
  const blocked = Math.max(part.blocked - now, 0);
  const used = Math.min(s.length === 0 ? 0 : part.f.used(p, s, now), MAX_NUMBER);
  const remaining = blocked > 0 ? 0 : Math.max(part.f.left(p, s, now), 0);
  const end = s.length === 0 ? now : part.f.endsAt(s);
  const reset = s.length === 0 ? 0 : Math.max(Math.min(part.f.emptyAt(p, s), end) - now, 0);
  let nextAfter = p[LIMIT] > 0 && blocked > 0 ? blocked : -1;
  // It is unknown when a holder gives its slot back.
  if (p[MODE] !== HELD && p[LIMIT] > 0 && s.length > 0 && (blocked > 0 || (used > 0 && remaining < p[LIMIT]))) {
    nextAfter = Math.max(Math.min(part.f.freeAt(p, s, remaining + 1, now, 0), end) - now, blocked);
  }
  return [
    part.wait === 0 ? 1 : 0,
    remaining,
    used,
    part.wait,
    Math.max(reset, blocked),
    nextAfter,
    part.delay,
    blocked,
  ];
}
