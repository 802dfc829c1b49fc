import { PolicyError, shown } from '../errors.ts';
import { hintFor, listed } from './hint.ts';

/**
 * Rejects unknown options: names each one, and says what to write instead.
 *
 * @throws PolicyError with `SLUICE_OPTION_UNKNOWN`, or `SLUICE_OPTION_INVALID` when `options` is not an object.
 */
export function checkOptions(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new PolicyError(
      where,
      `${where} takes an object with ${listed(known)}, got ${shown(options)}${exampleFor(known)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const [name, ...others] = Object.keys(options).filter((given) => !known.includes(given));
  if (name === undefined) return;
  const given = options as Readonly<Record<string, unknown>>;
  const nor = others.slice(0, MOST_OTHERS).map((other) => `; nor ${unknownOption(other, given[other], known, ': ')}`);
  throw new PolicyError(
    name,
    `${where} has no option ${unknownOption(name, given[name], known, '; ')}${nor.join('')}`,
    'SLUICE_OPTION_UNKNOWN',
  );
}

/** Further unknown options in the error of the first. */
const MOST_OTHERS = 10;

function unknownOption(name: string, value: unknown, known: readonly string[], then: string): string {
  return `${JSON.stringify(name)} (got ${shown(value)})${then}${hintFor(name, value, known)}`;
}

/** How to write a window, where that is what the options are of. */
function exampleFor(known: readonly string[]): string {
  return known.includes('limit') && known.includes('window') ? '; write for example { limit: 100, window: "1m" }' : '';
}

/** The error of an option's value, which states what was expected and what came. */
export function invalidOption(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
}
