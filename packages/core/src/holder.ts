import { createHash, randomInt } from 'node:crypto';
import { shown, typeError } from './errors.ts';

/** What a holder's digits begin with in this process: one of 10^14, by chance. A count stands behind it. */
const PROCESS = String(randomInt(100_000_000_000_000)).padStart(15, '1');
const DIGITS_AS_HEX = 24;
const LONGEST = 29;

let made = 0;

/** A holder that nobody else is, in digits. */
export function newHolder(): string {
  return `${PROCESS}${String(made++)}`;
}

/** Whether a holder is one that {@link newHolder} made in this process: it holds nothing but what it was made for. */
export function isNewHolder(holder: string): boolean {
  return holder.startsWith(PROCESS);
}

/**
 * The holder that a caller names, in digits: 96 bits of its SHA-256.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for what is no text, or an empty one.
 */
export function holderOf(name: unknown): string {
  if (typeof name !== 'string' || name === '') {
    throw typeError(
      'SLUICE_KEY_INVALID',
      `holder must be a string that is not empty, got ${shown(name)}; nothing was taken`,
    );
  }
  const digest = createHash('sha256').update(name, 'utf16le').digest('hex');
  return BigInt(`0x${digest.slice(0, DIGITS_AS_HEX)}`)
    .toString()
    .padStart(LONGEST, '0');
}
