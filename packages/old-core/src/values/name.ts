import { PolicyError, shown } from '../errors.ts';

const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

/**
 * Checks the name of a limiter or policy. Names are part of header fields and keys: a letter, then up to 63 letters,
 * digits, dots, dashes or underscores.
 *
 * @throws PolicyError for an invalid name.
 */
export function parseName(value: unknown, field: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value;
  throw new PolicyError(
    field,
    `${field} must be a letter followed by up to 63 letters, digits, ".", "-" or "_" (it is part of header fields and keys), got ${shown(value)}`,
  );
}

/**
 * The name that a policy states, if it states one.
 *
 * @throws PolicyError for an invalid name.
 */
export function ownName(name: unknown): { readonly name?: string } {
  return name === undefined ? {} : { name: parseName(name, 'name') };
}
