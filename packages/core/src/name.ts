import { PolicyError, shown } from './errors.ts';

const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

/**
 * The name of a limiter or policy. Names stand in header fields and keys: a letter, then up to 63 letters, digits,
 * dots, dashes or underscores.
 *
 * @throws PolicyError when it is none.
 */
export function parseName(value: unknown, field: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value;
  throw new PolicyError(
    field,
    `${field} must be a letter followed by up to 63 letters, digits, ".", "-" or "_" (it stands in header fields and keys), got ${shown(value)}`,
  );
}
