// What the families share. This folder is printed as Lua 5.1 (scripts/build/to-lua.mjs): numbers, lists of numbers, if,
// for, functions. Instants are whole milliseconds. All divisions are of whole numbers below 2^53, so floor and ceil of
// a quotient are exact.

/**
 * The numbers of a policy or a state. A key that was never used has the state []; all other states have at least the
 * first numbers.
 */
export type Nums = number[] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7, number>;

/** The state of an unused key. */
export function unused(): Nums {
  return [] as number[] as Nums;
}

/** The places of the numbers that every policy has. */
export const LIMIT = 0;
export const OVERDRAFT = 1;
export const BLOCK_FOR = 2;
export const MODE = 3;
/** For a leaky bucket: requests wait in a line, and only the last can leave it. */
export const LINE = 1;
/** For concurrency: units are slots, and each holder gives its own back. */
export const HELD = 2;

/** The largest count: 2^52, because twice that is still exact. */
export const MAX_COUNT = 4503599627370496;
/** The largest number that a value may hold. */
export const MAX_NUMBER = 9007199254740991;
/** The longest period in milliseconds: 2^42, about 139 years. */
export const MAX_PERIOD = 4398046511104;

/** Moves the first number of a state, and everything relative to it, back to t if it lies after t. */
export function moveFirst(s: Nums, t: number): boolean {
  if (s[0] <= t) return false;
  s[0] = t;
  return true;
}

export function isWithin(x: number, min: number, max: number): boolean {
  return x >= min && x <= max;
}

/** `count * to / from`, rounded up, and at most MAX_COUNT. Both periods are at most MAX_PERIOD; the product need not be exact. */
export function scaleUp(count: number, to: number, from: number): number {
  const whole = Math.floor(count / from);
  const rest = count - whole * from;
  let scaled = 0;
  let left = 0;
  // Long division of rest * to by from, ten bits of `to` at a time.
  for (let place = 4; place >= 0; place--) {
    const digit = Math.floor(to / 1024 ** place) % 1024;
    left = left * 1024 + digit * rest;
    const times = Math.floor(left / from);
    left -= times * from;
    scaled = scaled * 1024 + times;
  }
  if (left > 0) scaled += 1;
  return Math.min(whole * to + scaled, MAX_COUNT);
}

// A window of `window` ms that allows `limit` units, while a policy with a longer one takes turns on the key, which allows
// `longLimit` in `longest` ms: in any interval up to the longer window, together no more than the larger of the two alone.

/** How many units may be younger than this, including the next unit. */
export function roomAt(age: number, limit: number, window: number, longLimit: number, longest: number): number {
  if (age < window) return limit;
  return age < longest ? Math.max(limit * (Math.floor(age / window) + 1), longLimit) : MAX_NUMBER;
}

/** The inverse: how old the oldest of these units (more than `limit`) must be. Not for a limit of 0. */
export function ageFor(units: number, limit: number, window: number, longLimit: number, longest: number): number {
  if (units <= longLimit || window >= longest) return window;
  return Math.min((Math.ceil(units / limit) - 1) * window, longest);
}
