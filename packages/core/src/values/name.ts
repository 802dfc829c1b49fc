import { PolicyError, shown } from '../errors.ts';

const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

/**
 * Checks the name of a limiter or policy: a letter, then up to 63 letters, digits, dots, dashes or underscores.
 *
 * @throws PolicyError for an invalid name.
 */
export function parseName(given: unknown, field: string): string {
  if (typeof given === 'string' && NAME.test(given)) return given;
  const expected =
    'a letter followed by up to 63 letters, digits, ".", "-" or "_" (it is part of header fields and keys)';
  throw new PolicyError(field, `${field} must be ${expected}, got ${shown(given)}`);
}

/**
 * Checks that names differ regardless of case, as header fields compare them.
 *
 * @throws PolicyError if two are equal.
 */
export function checkDistinct(names: readonly string[], field: string): void {
  const lower = names.map((name) => name.toLowerCase());
  const repeated = lower.findIndex((name, i) => lower.indexOf(name) !== i);
  if (repeated === -1) return;
  const first = names[lower.indexOf(lower[repeated] as string)];
  const both = `${shown(first)} and ${shown(names[repeated])}`;
  const message = `names must be unique regardless of case, got ${both}; give one of them another name`;
  throw new PolicyError(field, message);
}
