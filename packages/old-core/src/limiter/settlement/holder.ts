import { createHash, randomInt } from 'node:crypto';
import { shown, typeError } from '../../errors.ts';

/** The first digits of every holder of this process: one of 10^14, by chance. A count follows. */
const PROCESS = String(randomInt(100_000_000_000_000)).padStart(15, '1');
const DIGITS_AS_HEX = 24;
const LONGEST = 29;

let made = 0;

/** A new holder, unique across processes, in digits. */
export function newHolder(): string {
  return `${PROCESS}${String(made++)}`;
}

/** Whether {@link newHolder} made this holder in this process: then it holds only what its own request took. */
export function isNewHolder(holder: string | undefined): boolean {
  return holder?.startsWith(PROCESS) === true;
}

/** The same parts with new holders in place of those that {@link newHolder} has made. */
export function withNewHolders<Part extends { readonly holder?: string }>(parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => (isNewHolder(part.holder) ? { ...part, holder: newHolder() } : part));
}

/**
 * The holder that a caller names, in digits: 96 bits of its SHA-256.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for anything but a string that is not empty.
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
