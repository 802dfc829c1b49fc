import { PolicyError, shown } from '../errors.ts';
import { hintFor, listed } from './names-elsewhere.ts';

/**
 * Rejects unknown options: names each one, and says what to write instead.
 *
 * @throws PolicyError with `SLUICE_OPTION_UNKNOWN`, or `SLUICE_OPTION_INVALID` when `options` is not an object.
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new PolicyError(
      where,
      `${where} takes an object with ${listed(known)}, got ${shown(options)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  const [first] = unknown;
  if (first === undefined) return;
  const told = unknown.map((name, i) => {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    const prefix = i === 0 ? `${where} has no option` : 'nor';
    return `${prefix} ${JSON.stringify(name)} (got ${shown(value)}); ${hintFor(name, value, known)}`;
  });
  throw new PolicyError(first, told.join(' '), 'SLUICE_OPTION_UNKNOWN');
}

/** The error of an option's value, which states what was expected and what came. */
export function invalidOption(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
}
