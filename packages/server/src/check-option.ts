import { SluiceError } from '@sluice/core';

/** The longest wait of a timer of Node. */
const LONGEST_MS: number = 2 ** 31 - 1;

/** A whole number of an option, or its default. */
export function parseNumber(
  given: unknown,
  byDefault: number,
  field: string,
  least: number,
  most = LONGEST_MS,
): number {
  const value = given ?? byDefault;
  const isWithin = Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
  check(isWithin, field, `a whole number from ${String(least)} to ${String(most)}`, value);
  return value as number;
}

export function isText(given: unknown): given is string {
  return typeof given === 'string' && given !== '';
}

/** @throws SluiceError `SLUICE_OPTION_INVALID` where an option is not what it must be. */
export function check(is: boolean, field: string, expected: string, got: unknown): void {
  if (is) return;
  const shown =
    typeof got === 'string' || typeof got === 'number' ? JSON.stringify(got) : got === null ? 'null' : typeof got;
  throw new SluiceError('SLUICE_OPTION_INVALID', `${field} must be ${expected}; got ${shown}`);
}
