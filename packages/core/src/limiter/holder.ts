import { shown, typeError } from '../errors.ts';
import { hashText } from '../values/key.ts';

/** A new holder of slots: a random number below 2^53. */
export function newHolder(): number {
  return 1 + Math.floor(Math.random() * (Number.MAX_SAFE_INTEGER - 1));
}

const DIGITS = 10;
const BASE = 32;

/**
 * The holder with the name that a caller gives: 50 bits of the name's hash.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for anything but a non-empty string.
 */
export function readHolder(name: unknown): number {
  if (typeof name !== 'string' || name === '') {
    const expected = 'holder must be a non-empty string';
    throw typeError('SLUICE_KEY_INVALID', `${expected}, got ${shown(name)}; nothing was taken`);
  }
  let holder = 0;
  for (const digit of hashText(name).slice(-DIGITS)) holder = holder * BASE + (digit.charCodeAt(0) % BASE);
  return holder + 1;
}
