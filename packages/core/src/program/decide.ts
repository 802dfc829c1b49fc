import type { Family } from './family.ts';
import { BLOCK_FOR, HELD, LIMIT, LINE, MODE, OVERDRAFT, type Nums, unused } from './numbers.ts';

/** What can be asked of a key. */
export const TAKE = 0;
export const PEEK = 1;
/** As TAKE, but a denial starts no block: for requests that wait, and for reports. */
export const TRY = 2;
export const GIVE = 3;
export const CHARGE = 4;
export const RESET = 5;
export const BLOCK = 6;
/** Keeps a slot for as long as a new one: allowed if it is still held. */
export const RENEW = 7;

/** One key of a request: how its policy counts, what is asked, and what the key holds. */
export interface Part {
  f: Family;
  p: Nums;
  cost: number;
  holder: number;
  s: Nums;
  /** Until when the key is blocked; 0 if it is not. */
  blocked: number;
  /** Set by `decide` and `change`: the instant at which the state is read. */
  t: number;
  /** Set by `decide`: whether this key allows the request, and in how many ms it does; -1: never. */
  allowed: boolean;
  wait: number;
  /** In how many ms an allowed request of a leaky bucket may start. */
  delay: number;
  /** Whether the key must be written. */
  changed: boolean;
}

/** A block that has ended is not written. */
function write(part: Part, now: number): void {
  part.changed = true;
  if (part.blocked <= now) part.blocked = 0;
}

/**
 * Sets the instant at which a state is read. A state that was written later than now was written by a clock that ran
 * ahead: it is read as of its write, and all its instants move back by the difference as soon as it may be written.
 */
function read(part: Part, op: number, now: number): void {
  part.t = now;
  if (part.s.length > 0 && part.s[0] > now) {
    if (op === PEEK) part.t = part.s[0];
    else {
      part.s[0] = now;
      write(part, now);
    }
  }
}

/** In how many ms a key allows its part of a request: 0 now, -1 never. */
function waitFor(part: Part, now: number): number {
  const blocked = Math.max(part.blocked - now, 0);
  if (part.cost === 0) return blocked;
  const needed = part.p[OVERDRAFT] > 0 ? Math.max(part.cost - part.p[OVERDRAFT], 1) : part.cost;
  if (needed > part.p[LIMIT]) return -1;
  return Math.max(part.f.freeAt(part.p, part.s, needed, part.t, part.holder) - part.t, blocked);
}

/** Takes from all parts if all of them allow it, or from none. */
export function decide(parts: Part[], op: number, now: number): boolean {
  let allowed = true;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    read(part, op, now);
    part.wait = waitFor(part, now);
    part.allowed = part.wait === 0;
    part.delay = 0;
    if (part.wait !== 0) allowed = false;
    else if (part.p[MODE] === LINE && part.s.length > 0 && part.cost > 0) {
      part.delay = Math.max(part.f.emptyAt(part.p, part.s) - part.t, 0);
    }
    if (part.wait > 0 && op === TAKE && part.blocked <= now && part.p[BLOCK_FOR] > 0) {
      part.blocked = now + part.p[BLOCK_FOR];
      part.wait = Math.max(part.wait, part.p[BLOCK_FOR]);
      write(part, now);
    }
  }
  if (allowed) {
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as Part;
      if (op !== PEEK && part.cost > 0) {
        part.s = part.f.add(part.p, part.s, part.cost, 0, now, part.holder);
        write(part, now);
      }
    }
  }
  return allowed;
}

/**
 * Edits one key, which is written only if it has something of this kind, or gets it. `until` is when the units leave that
 * are given back or charged, or for how many ms a block lasts: 0 ends it. A block with a cost resets the key, too.
 */
export function change(part: Part, op: number, until: number, now: number): void {
  read(part, op, now);
  const hadState = part.s.length > 0;
  if (op === GIVE && part.s.length > 0) part.s = part.f.give(part.p, part.s, part.cost, until, now, part.holder);
  if (op === CHARGE) part.s = part.f.add(part.p, part.s, part.cost, until, now, part.holder);
  if (op === RESET || (op === BLOCK && part.cost > 0)) part.s = unused();
  if (op === BLOCK) part.blocked = until > 0 ? now + until : 0;
  part.wait = 0;
  part.delay = 0;
  part.allowed = true;
  if (op === RENEW) {
    const after = part.f.add(part.p, part.s, part.cost, 1, now, part.holder);
    part.allowed = after !== part.s;
    part.s = after;
  }
  if (part.s.length > 0 || hadState || op === RESET || op === BLOCK) write(part, now);
}

/** The places in what `figures` lists: times in ms from now, -1 for never, and for unknown. */
export const ALLOWED = 0;
export const REMAINING = 1;
export const USED = 2;
export const RETRY_AFTER = 3;
export const RESET_AFTER = 4;
export const NEXT_AFTER = 5;
export const DELAY = 6;
/** For how long the key is blocked, also by this request; 0 if it is not. */
export const BLOCKED = 7;

export function figures(part: Part, now: number): number[] {
  const f = part.f;
  const p = part.p;
  const s = part.s;
  const t = part.t;
  const blocked = Math.max(part.blocked - now, 0);
  const used = f.used(p, s, t);
  const remaining = blocked > 0 ? 0 : Math.max(f.left(p, s, t), 0);
  const reset = s.length === 0 ? 0 : Math.max(f.emptyAt(p, s) - t, 0);
  let next = -1;
  if (p[MODE] === HELD) {
    // When a holder gives its slot back cannot be known.
    if (p[LIMIT] > 0 && blocked > 0) next = blocked;
  } else if (p[LIMIT] > 0 && (blocked > 0 || (used > 0 && remaining < p[LIMIT]))) {
    next = Math.max(f.freeAt(p, s, remaining + 1, t, 0) - t, blocked);
  }
  return [part.allowed ? 1 : 0, remaining, used, part.wait, Math.max(reset, blocked), next, part.delay, blocked];
}
